// The certificate that webhooks are served with, as files that cert-manager renews through a Secret, or the administrator. They
// may come later than the process, change at any time, and be half written: they are read again and again, and what does
// not fit together is not used.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { ServingCertificate } from '../admission/server.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'

export interface CertificateFilesOptions {
  readonly directory: string
  readonly certificateName: string
  readonly keyName: string
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

function read(
  paths: { certificate: string; key: string },
  readFile: (path: string) => string | undefined,
  nowMs: number,
): Found {
  try {
    const certificate = readFile(paths.certificate)
    if (certificate === undefined) return { problem: `there is no certificate at ${paths.certificate}` }
    const key = readFile(paths.key)
    if (key === undefined) return { problem: `there is no key at ${paths.key}` }
    const parsed = new X509Certificate(certificate)
    if (!parsed.checkPrivateKey(createPrivateKey(key))) {
      return { problem: `${paths.key} is not the key of ${paths.certificate}` }
    }
    // Served all the same: the API server reports it in its own error.
    if (Date.parse(parsed.validTo) <= nowMs) {
      return { certificate: { certificate, key }, problem: `${paths.certificate} ended on ${parsed.validTo}` }
    }
    return { certificate: { certificate, key }, problem: undefined }
  } catch (error) {
    return { problem: `${paths.certificate} or its key cannot be read: ${describeError(error)}` }
  }
}

function isSame(one: ServingCertificate, other: ServingCertificate | undefined): boolean {
  return one.certificate === other?.certificate && one.key === other?.key
}
