import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aPod, namespaces, pods } from '../../../test/harness/objects.ts'
import { aWorld } from '../../../test/harness/world.ts'

const accounts = `${namespaces}/default/serviceaccounts`
const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'
const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount'

const anAccount = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name },
  ...more,
})
const aClass = (name: string, more: object) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  ...more,
})

describe('a new pod', () => {
  test('runs as the default account, with a token where programs look for it', async () => {
    const { admin } = await aWorld()
    const { spec } = ok(await admin.create(pods(), aPod('one')))
    expect(spec).toMatchObject({
      serviceAccountName: 'default',
      containers: [{ volumeMounts: [{ mountPath: tokenPath, readOnly: true }] }],
      volumes: [{ name: expect.stringMatching(/^kube-api-access-\w{5}$/), projected: { defaultMode: 420 } }],
    })
  })

  test('brings the pull secrets of its account', async () => {
    const { admin } = await aWorld()
    ok(await admin.create(accounts, anAccount('builder', { imagePullSecrets: [{ name: 'registry' }] })))
    const { spec } = ok(await admin.create(pods(), aPod('one', { serviceAccountName: 'builder' })))
    expect(spec).toMatchObject({ serviceAccount: 'builder', imagePullSecrets: [{ name: 'registry' }] })
  })

  test.each([
    ['the pod', { automountServiceAccountToken: false }, {}],
    ['the account', {}, { automountServiceAccountToken: false }],
  ])('has no token when %s says so', async (_, spec, account) => {
    const { admin } = await aWorld()
    ok(await admin.create(accounts, anAccount('builder', account)))
    const made = ok(await admin.create(pods(), aPod('one', { serviceAccountName: 'builder', ...spec })))
    expect(made.spec).not.toHaveProperty('volumes')
  })

  test('has the priority of its class', async () => {
    const { admin } = await aWorld()
    ok(await admin.create(classes, aClass('high', { value: 1000, preemptionPolicy: 'Never' })))
    const { spec } = ok(await admin.create(pods(), aPod('one', { priorityClassName: 'high' })))
    expect(spec).toMatchObject({ priority: 1000, preemptionPolicy: 'Never' })
  })

  test('has the class that is marked as the default', async () => {
    const { admin } = await aWorld()
    ok(await admin.create(classes, aClass('usual', { value: 7, globalDefault: true })))
    const { spec } = ok(await admin.create(pods(), aPod('one')))
    expect(spec).toMatchObject({ priorityClassName: 'usual', priority: 7 })
  })

  test.each([
    ['an account that does not exist', { serviceAccountName: 'nope' }, 'error looking up service account default/nope'],
    ['a class that does not exist', { priorityClassName: 'nope' }, 'no PriorityClass with name nope was found'],
    ['a priority of its own', { priority: 5 }, 'the integer value of priority (5) must not be provided in pod spec'],
  ])('is refused with %s', async (_, spec, message) => {
    const { admin } = await aWorld()
    expect(await admin.create(pods(), aPod('one', spec))).toMatchObject({
      code: 403,
      body: { message: expect.stringContaining(message) },
    })
  })
})
