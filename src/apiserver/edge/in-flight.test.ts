import { expect, test } from 'vitest'
import { mastersGroup } from '../authn/user.ts'
import type { RequestVerb, ResourceRequest } from '../request.ts'
import { createInFlight } from './in-flight.ts'
import { text } from './wire.ts'

const ann = { username: 'ann', groups: [] }
const bob = { username: 'bob', groups: [] }
const admin = { username: 'admin', groups: [mastersGroup] }

test.each<[RequestVerb]>([['list'], ['update'], ['watch']])(
  'a user that floods with %s has half of the places; another, and the administrator, are served',
  async verb => {
    const { run, running } = createInFlight({ reads: 4, writes: 4, watches: 4 })
    const request = { verb } as ResourceRequest
    const ends: (() => void)[] = []
    const long = () => new Promise<ReturnType<typeof text>>(resolve => ends.push(() => resolve(text(200, ''))))
    const quick = async () => text(200, '')
    const flood = [run(request, ann, long), run(request, ann, long)]
    await expect(run(request, ann, quick)).rejects.toMatchObject({ status: { code: 429 } })
    expect(await run(request, bob, quick)).toMatchObject({ code: 200 })
    const others = [run(request, admin, long), run(request, admin, long)]
    await expect(run(request, bob, quick)).rejects.toMatchObject({ status: { code: 429 } })
    for (const end of ends) end()
    await Promise.all([...flood, ...others])
    expect(await run(request, ann, quick)).toMatchObject({ code: 200 })
    expect(running).toEqual({ reads: 0, writes: 0, watches: 0 })
  },
)
