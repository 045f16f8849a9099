import { createPublicKey, generateKeyPairSync, randomUUID, sign, verify, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Attributes } from '../authz/attributes.ts'
import { issueCA, issueClientCertificate, issueServerCertificate } from '../certificates/issue.ts'
import type { KubeObject } from '../object.ts'
import { StatusError } from '../status.ts'
import { bearerToken, createAuthenticator } from './authenticate.ts'
import { impersonate } from './impersonate.ts'
import { jwks, openIDConfiguration } from './openid.ts'
import { answerSelfSubjectReview, answerTokenReview } from './reviews.ts'
import { createTokens } from './service-account-token.ts'
import { answerTokenRequest, defaultTokenRequest, prepareTokenRequest } from './token-request.ts'
import { anonymous, parseServiceAccountUser } from './user.ts'

const start = new Date('2026-03-01T12:00:00Z')
const minutes = (n: number) => new Date(start.getTime() + n * 60_000)
const life = { notBefore: start, notAfter: minutes(60) }
const ca = issueCA('test-ca', life)
const ecKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const issuer = 'https://kubernetes.default.svc.cluster.local'

function aWorld(signingKey = ecKey) {
  const world = {
    now: start,
    objects: new Map<string, KubeObject>(),
    put(resource: string, namespace: string, name: string, uid: string, more: Record<string, unknown> = {}) {
      const metadata = { name, ...(namespace !== '' && { namespace }), uid }
      world.objects.set(`${resource}/${namespace}/${name}`, { apiVersion: 'v1', kind: 'X', metadata, ...more })
    },
  }
  const find = (resource: string, namespace: string, name: string) =>
    world.objects.get(`${resource}/${namespace}/${name}`)
  const tokens = createTokens({ issuer, audiences: [issuer], signingKey, find, clock: () => world.now, randomUUID })
  const authenticate = createAuthenticator({
    ca: () => ca.certificate,
    tokens,
    clock: () => world.now,
    allowAnonymous: true,
  })
  world.put('serviceaccounts', 'team-a', 'robot', 'uid-1')
  const ask = (spec: Record<string, unknown> = {}, metadata = {}, warn: (text: string) => void = () => {}) => {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, spec }
    const context = { namespace: 'team-a', name: 'robot', tokens, find, now: world.now, warn }
    defaultTokenRequest(request)
    return answerTokenRequest(prepareTokenRequest(request, context), context)
  }
  const tokenFor = (spec: Record<string, unknown> = {}) => (ask(spec).status as { token: string }).token
  return { world, tokens, authenticate, ask, tokenFor }
}

const rawOf = (certificate: string) => new X509Certificate(certificate).raw
const codeOf = (act: () => unknown): number => {
  try {
    act()
  } catch (error) {
    if (error instanceof StatusError) return error.status.code
    throw error
  }
  return 200
}

describe('a client certificate', () => {
  const { world, authenticate } = aWorld()
  const jane = rawOf(issueClientCertificate(ca, 'jane', ['dev'], life).certificate)

  it('authenticates its subject', () => {
    expect(authenticate({ peerCertificate: jane })).toEqual({
      username: 'jane',
      groups: ['dev', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    })
  })

  it.each([
    ['another authority', issueClientCertificate(issueCA('test-ca', life), 'jane', ['system:masters'], life)],
    ['the same authority, but for servers', issueServerCertificate(ca, 'jane', { dns: ['a'], ips: [] }, life)],
  ])('is refused when it comes from %s', (_, { certificate }) => {
    expect(codeOf(() => authenticate({ peerCertificate: rawOf(certificate) }))).toBe(401)
  })

  it('is refused outside its time, even when it was seen before', () => {
    authenticate({ peerCertificate: jane })
    world.now = minutes(61)
    expect(codeOf(() => authenticate({ peerCertificate: jane }))).toBe(401)
    world.now = minutes(-1)
    expect(codeOf(() => authenticate({ peerCertificate: jane }))).toBe(401)
    world.now = start
  })

  it('is refused when it is no certificate', () => {
    expect(codeOf(() => authenticate({ peerCertificate: Buffer.from('hello') }))).toBe(401)
  })
})

describe('a request without credentials', () => {
  it('is anonymous, unless that is not allowed', () => {
    const { authenticate, tokens } = aWorld()
    expect(authenticate({})).toEqual({ username: 'system:anonymous', groups: ['system:unauthenticated'] })
    const strict = createAuthenticator({ ca: () => ca.certificate, tokens, clock: () => start, allowAnonymous: false })
    expect(codeOf(() => strict({}))).toBe(401)
  })

  it.each(['Basic abc', 'Bearer', 'Bearer  x', '', '   '])('is what %j makes', authorization => {
    expect(bearerToken(authorization)).toBeUndefined()
  })

  it('is not the same as one with a bad token', () => {
    const { authenticate } = aWorld()
    expect(codeOf(() => authenticate({ authorization: 'Bearer nonsense' }))).toBe(401)
    expect(codeOf(() => authenticate({ authorization: 'bearer a.b.c' }))).toBe(401)
  })
})

describe('a service account token', () => {
  it.each([
    ['EC', ecKey],
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
  ])('signed with an %s key speaks for its account', (_, key) => {
    const { authenticate, tokenFor } = aWorld(key)
    expect(authenticate({ authorization: `Bearer ${tokenFor()}` })).toEqual({
      username: 'system:serviceaccount:team-a:robot',
      uid: 'uid-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:team-a', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
    })
  })

  it('tells which pod and node it was made for', () => {
    const { world, authenticate, tokenFor } = aWorld()
    world.put('pods', 'team-a', 'p', 'uid-p', { spec: { serviceAccountName: 'robot', nodeName: 'n' } })
    world.put('nodes', '', 'n', 'uid-n')
    const token = tokenFor({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p' } })
    expect(authenticate({ authorization: `Bearer ${token}` }).extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': ['p'],
      'authentication.kubernetes.io/pod-uid': ['uid-p'],
      'authentication.kubernetes.io/node-name': ['n'],
      'authentication.kubernetes.io/node-uid': ['uid-n'],
    })
  })

  it('ends with its time, a minute of leeway granted', () => {
    const { world, tokens, tokenFor } = aWorld()
    const token = tokenFor({ expirationSeconds: 600 })
    world.now = minutes(11)
    tokens.verify(token)
    world.now = minutes(11.1)
    expect(() => tokens.verify(token)).toThrow('service account token has expired')
    world.now = minutes(-2)
    expect(() => tokens.verify(token)).toThrow('service account token is not valid yet')
  })

  it('ends when its account is deleted, or deleted and created again', () => {
    const { world, tokens, tokenFor } = aWorld()
    const token = tokenFor()
    tokens.verify(token)
    world.put('serviceaccounts', 'team-a', 'robot', 'uid-2')
    expect(() => tokens.verify(token)).toThrow('service account UID (uid-2) does not match claim (uid-1)')
    world.objects.clear()
    expect(() => tokens.verify(token)).toThrow('not found')
  })

  it.each([
    ['Pod', 'pods', 'team-a'],
    ['Secret', 'secrets', 'team-a'],
    ['Node', 'nodes', ''],
  ])('bound to a %s ends with it', (kind, resource, namespace) => {
    const { world, tokens, tokenFor } = aWorld()
    world.put(resource, namespace, 'b', 'uid-b', { spec: { serviceAccountName: 'robot' } })
    const token = tokenFor({ boundObjectRef: { apiVersion: 'v1', kind, name: 'b' } })
    tokens.verify(token)
    const was = world.objects.get(`${resource}/${namespace}/b`)
    if (was) was.metadata.deletionTimestamp = minutes(-2).toISOString()
    expect(() => tokens.verify(token)).toThrow('service account token has been invalidated')
    world.put(resource, namespace, 'b', 'uid-c')
    expect(() => tokens.verify(token)).toThrow('(uid-c) does not match')
    world.objects.delete(`${resource}/${namespace}/b`)
    expect(() => tokens.verify(token)).toThrow('service account token has been invalidated')
  })

  it('for another audience is refused', () => {
    const { tokens, tokenFor } = aWorld()
    const token = tokenFor({ audiences: ['vault'] })
    expect(() => tokens.verify(token)).toThrow(
      `token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`,
    )
    expect(tokens.verify(token, ['vault', 'other']).audiences).toEqual(['vault'])
  })

  it('is worthless once a byte of it is changed, or signed by another, or not at all', () => {
    const { tokens, tokenFor } = aWorld()
    const [header = '', claims = '', signature = ''] = tokenFor().split('.')
    const forged = JSON.parse(Buffer.from(claims, 'base64url').toString())
    forged['kubernetes.io'].serviceaccount.name = 'boss'
    const forgedText = Buffer.from(JSON.stringify(forged)).toString('base64url')
    expect(() => tokens.verify(`${header}.${forgedText}.${signature}`)).toThrow()
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(() => tokens.verify(`${none}.${forgedText}.`)).toThrow()
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const strangers = sign('sha256', Buffer.from(`${header}.${forgedText}`), {
      key: stranger,
      dsaEncoding: 'ieee-p1363',
    })
    expect(() => tokens.verify(`${header}.${forgedText}.${strangers.toString('base64url')}`)).toThrow()
    // The public key is no secret: as an HMAC key it must not be accepted.
    const hs = Buffer.from('{"alg":"HS256"}').toString('base64url')
    expect(() => tokens.verify(`${hs}.${forgedText}.${signature}`)).toThrow()
  })

  it('of another issuer is not ours, though the key is', () => {
    const { world, tokens } = aWorld()
    const find = (resource: string, namespace: string, name: string) =>
      world.objects.get(`${resource}/${namespace}/${name}`)
    const options = { audiences: [issuer], signingKey: ecKey, find, clock: () => start, randomUUID }
    const other = createTokens({ ...options, issuer: 'https://elsewhere.example' })
    const content = {
      namespace: 'team-a',
      serviceAccount: { name: 'robot', uid: 'uid-1' },
      audiences: [issuer],
      expirationSeconds: 600,
    }
    const token = other.sign(content)
    other.verify(token)
    expect(() => tokens.verify(token)).toThrow('invalid bearer token')
  })

  it('that names another algorithm than its key is refused, even with a good signature', () => {
    const { tokens, tokenFor } = aWorld()
    const [, claims = ''] = tokenFor().split('.')
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: tokens.keys[0]?.id })).toString('base64url')
    const signature = sign('sha256', Buffer.from(`${header}.${claims}`), { key: ecKey, dsaEncoding: 'ieee-p1363' })
    expect(() => tokens.verify(`${header}.${claims}.${signature.toString('base64url')}`)).toThrow(
      'cryptographic primitive',
    )
  })

  it('of a former key is still accepted', () => {
    const former = aWorld(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
    const formerKey = former.tokens.keys[0]?.publicKey
    const { world } = former
    const find = (resource: string, namespace: string, name: string) =>
      world.objects.get(`${resource}/${namespace}/${name}`)
    const options = { issuer, audiences: [issuer], signingKey: ecKey, find, clock: () => start, randomUUID }
    const token = former.tokenFor()
    expect(() => createTokens(options).verify(token)).toThrow('invalid signature, no keys found')
    const tokens = createTokens({ ...options, formerKeys: formerKey ? [formerKey] : [] })
    expect(tokens.verify(token).user.username).toBe('system:serviceaccount:team-a:robot')
  })
})

describe('a token request', () => {
  it('is answered with a token, its end, and what was assumed', () => {
    const { ask } = aWorld()
    expect(ask()).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'robot', namespace: 'team-a', uid: 'uid-1', creationTimestamp: '2026-03-01T12:00:00Z' },
      spec: { audiences: [issuer], expirationSeconds: 3600, boundObjectRef: null },
      status: { token: expect.any(String), expirationTimestamp: '2026-03-01T13:00:00Z' },
    })
  })

  it('of a pod that asks as old clients do gets a year, and the answer does not show it', () => {
    const { world, ask, tokens } = aWorld()
    world.put('pods', 'team-a', 'p', 'uid-p', { spec: { serviceAccountName: 'robot' } })
    const answer = ask({ expirationSeconds: 3607, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' } })
    const { token, expirationTimestamp } = answer.status as { token: string; expirationTimestamp: string }
    expect(expirationTimestamp).toBe('2026-03-01T13:00:07Z')
    world.now = new Date(start.getTime() + 300 * 24 * 60 * 60_000)
    expect(tokens.verify(token).user.uid).toBe('uid-1')
  })

  it('for more than a year is granted for a year, with a warning', () => {
    const warnings: string[] = []
    const { ask, tokens, world } = aWorld()
    const answer = ask({ expirationSeconds: 2 ** 32 }, {}, text => warnings.push(text))
    const { token, expirationTimestamp } = answer.status as { token: string; expirationTimestamp: string }
    expect(answer.spec).toMatchObject({ expirationSeconds: 31_536_000 })
    expect(expirationTimestamp).toBe('2027-03-01T12:00:00Z')
    expect(warnings).toEqual(['requested expiration of 4294967296 seconds shortened to 31536000 seconds'])
    world.now = new Date(start.getTime() + 366 * 24 * 60 * 60_000)
    expect(() => tokens.verify(token)).toThrow('expired')
  })

  it.each([
    [{ expirationSeconds: 599 }, {}, 422, 'may not specify a duration less than 10 minutes'],
    [{ expirationSeconds: 2 ** 33 }, {}, 422, 'may not specify a duration larger than 2^32 seconds'],
    [{}, { name: 'other' }, 422, 'must match the service account name if specified'],
    [{}, { namespace: 'other' }, 422, 'must match the service account namespace if specified'],
    [{}, { uid: 'uid-9' }, 409, 'does not match the UID of the service account (uid-1)'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'gone' } }, {}, 404, 'pods "gone" not found'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'alien' } }, {}, 400, 'different serviceaccount name'],
    [
      { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'old' } },
      {},
      409,
      'deleted and then recreated',
    ],
    [{ boundObjectRef: { apiVersion: 'apps/v1', kind: 'ReplicaSet' } }, {}, 400, 'of type apps/v1, Kind=ReplicaSet'],
  ])('%j with metadata %j is refused with %d', (spec, metadata, code, message) => {
    const { world, ask } = aWorld()
    world.put('pods', 'team-a', 'alien', 'uid-a', { spec: { serviceAccountName: 'default' } })
    world.put('secrets', 'team-a', 's', 'uid-s')
    expect(codeOf(() => ask(spec, metadata))).toBe(code)
    expect(() => ask(spec, metadata)).toThrow(message)
  })

  it('for an account that does not exist finds none', () => {
    const { world, ask } = aWorld()
    world.objects.clear()
    expect(() => ask()).toThrow('serviceaccounts "robot" not found')
  })
})

describe('reviews', () => {
  const review = (spec: Record<string, unknown>): KubeObject => ({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec,
  })

  it('say whose token it is', () => {
    const { tokens, tokenFor } = aWorld()
    expect(answerTokenReview(review({ token: tokenFor() }), tokens).status).toMatchObject({
      authenticated: true,
      audiences: [issuer],
      user: {
        username: 'system:serviceaccount:team-a:robot',
        groups: expect.arrayContaining(['system:authenticated']),
      },
    })
  })

  it('say why a token is invalid', () => {
    const { tokens, tokenFor } = aWorld()
    expect(answerTokenReview(review({ token: 'x' }), tokens).status).toEqual({
      user: {},
      error: 'invalid bearer token',
    })
    expect(answerTokenReview(review({ token: tokenFor(), audiences: ['vault'] }), tokens).status).toEqual({
      user: {},
      error: `[invalid bearer token, token audiences ["${issuer}"] is invalid for the target audiences ["vault"]]`,
    })
    expect(() => answerTokenReview(review({}), tokens)).toThrow('token is required for TokenReview in authentication')
  })

  it('show the user of the request', () => {
    const asked = { ...review({}), kind: 'SelfSubjectReview' }
    expect(answerSelfSubjectReview(asked, anonymous, start)).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: { creationTimestamp: '2026-03-01T12:00:00Z' },
      status: { userInfo: { username: 'system:anonymous', groups: ['system:unauthenticated'] } },
    })
  })
})

describe('impersonation', () => {
  const admin = { username: 'admin', groups: ['system:masters', 'system:authenticated'] }
  const asked: Attributes[] = []
  const allow = (_: unknown, attributes: Attributes) => {
    asked.push(attributes)
    return { allowed: true, reason: '' }
  }
  const deny = () => ({ allowed: false, reason: '' })

  it('is not happening without its headers', () => {
    expect(impersonate(admin, {}, deny)).toBe(admin)
  })

  it.each([
    [{ 'impersonate-user': ['jane'] }, { username: 'jane', groups: ['system:authenticated'] }],
    [
      { 'impersonate-user': ['system:anonymous'] },
      { username: 'system:anonymous', groups: ['system:unauthenticated'] },
    ],
    [
      { 'impersonate-user': ['jane'], 'impersonate-group': ['dev', 'ops'], 'impersonate-uid': ['7'] },
      { username: 'jane', uid: '7', groups: ['dev', 'ops', 'system:authenticated'] },
    ],
    [
      { 'impersonate-user': ['system:serviceaccount:ns:robot'] },
      {
        username: 'system:serviceaccount:ns:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
      },
    ],
    [
      { 'impersonate-user': ['jane'], 'impersonate-group': ['system:unauthenticated'] },
      { username: 'jane', groups: ['system:unauthenticated'] },
    ],
    [
      {
        'impersonate-user': ['jane'],
        'impersonate-extra-acme.com%2fproject': ['a', 'b'],
        'impersonate-extra-x%': ['c'],
      },
      { username: 'jane', groups: ['system:authenticated'], extra: { 'acme.com/project': ['a', 'b'], 'x%': ['c'] } },
    ],
  ])('of %j makes the expected user', (headers, user) => {
    expect(impersonate(admin, headers, allow)).toEqual(user)
  })

  it('asks for each part of the identity', () => {
    asked.length = 0
    const headers = {
      'impersonate-user': ['system:serviceaccount:ns:robot'],
      'impersonate-group': ['g'],
      'impersonate-extra-scope': ['s'],
      'impersonate-uid': ['u'],
    }
    impersonate(admin, headers, allow)
    const short = asked.map(
      a => a.type === 'resource' && [a.verb, a.group, a.resource, a.subresource, a.namespace, a.name],
    )
    expect(short).toEqual([
      ['impersonate', '', 'serviceaccounts', '', 'ns', 'robot'],
      ['impersonate', '', 'groups', '', '', 'g'],
      ['impersonate', 'authentication.k8s.io', 'userextras', 'scope', '', 's'],
      ['impersonate', 'authentication.k8s.io', 'uids', '', '', 'u'],
    ])
  })

  it('is forbidden without the permission', () => {
    const jane = { username: 'jane', groups: [] }
    expect(() => impersonate(jane, { 'impersonate-user': ['boss'] }, deny)).toThrow(
      'users "boss" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
    )
  })

  it('needs a user before it can have groups', () => {
    expect(() => impersonate(admin, { 'impersonate-group': ['g'] }, allow)).toThrow(
      'requested [{Group  g    }] without impersonating a user',
    )
  })
})

describe('names of service accounts', () => {
  it.each([
    'system:serviceaccount:a',
    'system:serviceaccount:a:b:c',
    'system:serviceaccount:A:b',
    'system:serviceaccount::b',
    'x',
  ])('are not found in %j', name => expect(parseServiceAccountUser(name)).toBeUndefined())
})

describe('discovery for others', () => {
  it('publishes the key that checks our tokens', () => {
    const { tokens, tokenFor } = aWorld()
    const configuration = openIDConfiguration(tokens, '127.0.0.1:7443')
    expect(configuration).toEqual({
      issuer,
      jwks_uri: 'https://127.0.0.1:7443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    })
    const [jwk] = jwks(tokens).keys
    expect(Object.keys(jwk ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
    const [header, claims, signature = ''] = tokenFor().split('.')
    const signed = Buffer.from(`${header}.${claims}`)
    expect(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))).toBe(true)
  })
})
