// The certificate that webhooks are served with, as files that cert-manager renews through a Secret, or the administrator. They
// may come later than the process, change at any time, and be half written: they are read again and again, and what does
// not fit together is not used. With it goes the authority of those that may ask, where one is named.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { ServingCertificate } from '../admission/server.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'

export interface CertificateFilesOptions {
  readonly directory: string
  readonly certificateName: string
  readonly keyName: string
  /** The authority that signs the certificates of API servers. */
  readonly clientCAFile?: string | undefined
  /** Undefined where there is no such file. */
  readonly readFile: (path: string) => string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly onChange: (certificate: ServingCertificate) => void
}

export interface CertificateFiles {
  /** Why no webhook can be answered; undefined when nothing is wrong. */
  readonly problem: string | undefined
  /** When the one that is served ends; undefined while there is none. */
  readonly endsAtMs: number | undefined
  /** Follows the files until the signal is aborted. */
  follow(signal: AbortSignal): Promise<void>
}

/** Two small files: to read them again is cheap, and not all file systems have change events. */
const lookMs = 2_000
const lookWhileMissingMs = 500

export function createCertificateFiles(options: CertificateFilesOptions): CertificateFiles {
  const { clock, log, onChange } = options
  const paths = {
    certificate: join(options.directory, options.certificateName),
    key: join(options.directory, options.keyName),
    clientCA: options.clientCAFile,
  }
  let served: ServingCertificate | undefined
  let endsAtMs: number | undefined
  let problem: string | undefined = `${paths.certificate} was not read yet`

  function look(): void {
    const before = problem
    const found = read(paths, options.readFile, clock.now())
    problem = found.problem
    if (found.certificate !== undefined && !isSame(found.certificate, served)) {
      served = found.certificate
      onChange(served)
      const { subjectAltName, validTo } = new X509Certificate(served.certificate)
      endsAtMs = Date.parse(validTo)
      log.info('webhooks are served with a new certificate', { names: subjectAltName, until: validTo })
    }
    if (problem !== undefined && problem !== before) {
      log.error('webhooks cannot be served', { problem, advice })
    }
  }

  return {
    get problem() {
      return problem
    },
    get endsAtMs() {
      return endsAtMs
    },
    async follow(signal) {
      while (!signal.aborted) {
        look()
        await pause(clock, problem === undefined ? lookMs : lookWhileMissingMs, signal)
      }
    },
  }
}

const advice =
  'Mount the Secret with tls.crt and tls.key there, name its place with --webhook-cert-dir, or give --webhook-port 0 if no webhook is registered.'

interface Found {
  readonly certificate?: ServingCertificate
  readonly problem: string | undefined
}

interface Paths {
  readonly certificate: string
  readonly key: string
  readonly clientCA: string | undefined
}

function read(paths: Paths, readFile: (path: string) => string | undefined, nowMs: number): Found {
  try {
    const certificate = readFile(paths.certificate)
    if (certificate === undefined) return { problem: `there is no certificate at ${paths.certificate}` }
    const key = readFile(paths.key)
    if (key === undefined) return { problem: `there is no key at ${paths.key}` }
    const parsed = new X509Certificate(certificate)
    if (!parsed.checkPrivateKey(createPrivateKey(key))) {
      return { problem: `${paths.key} is not the key of ${paths.certificate}` }
    }
    const clientCA = paths.clientCA === undefined ? undefined : readClientCA(paths.clientCA, readFile)
    if (isMalformed(clientCA)) return { problem: clientCA.malformed }
    const all = { certificate, key, ...(clientCA !== undefined && { clientCA }) }
    // Served all the same: the API server reports it in its own error.
    if (Date.parse(parsed.validTo) <= nowMs) {
      return { certificate: all, problem: `${paths.certificate} ended on ${parsed.validTo}` }
    }
    return { certificate: all, problem: undefined }
  } catch (error) {
    return { problem: `${paths.certificate} or its key cannot be read: ${describeError(error)}` }
  }
}

function readClientCA(path: string, readFile: (path: string) => string | undefined): string | Malformed {
  const text = readFile(path)
  if (text === undefined) return { malformed: `there is no authority of API servers at ${path}` }
  try {
    // Of several, the first is looked at: a file that is no certificate at all is what happens.
    new X509Certificate(text)
    return text
  } catch (error) {
    return { malformed: `${path}, the authority of API servers, cannot be read: ${describeError(error)}` }
  }
}

function isSame(one: ServingCertificate, other: ServingCertificate | undefined): boolean {
  return one.certificate === other?.certificate && one.key === other?.key && one.clientCA === other?.clientCA
}
