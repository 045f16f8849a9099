import { generateKeyPairSync } from 'node:crypto'
import { bearerToken } from '../../src/apiserver/authn/authenticate.ts'
import { hasGoodSignature, readToken, signToken, verificationKey } from '../../src/apiserver/authn/jwt.ts'
import { type FuzzTarget, must } from './target.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = verificationKey(privateKey)
const claims = { iss: 'x', sub: 'system:serviceaccount:a:b', exp: 1 }
const good = signToken(claims, privateKey, key)
const [header = '', body = '', signature = ''] = good.split('.')

export const bearerTokens: FuzzTarget = {
  name: 'bearer tokens',
  corpus: [
    `Bearer ${good}`,
    `bearer ${header}.${body}.`,
    `Bearer ${header}.${body}.${signature}=`,
    'Basic x',
    'Bearer a.b.c',
  ],
  run(input) {
    const token = bearerToken(input.toString('latin1'))
    const read = token === undefined ? undefined : readToken(token)
    if (read === undefined || !hasGoodSignature(read, key)) return
    must(JSON.stringify(read.claims) === JSON.stringify(claims), 'a good signature is over what was signed')
  },
}
