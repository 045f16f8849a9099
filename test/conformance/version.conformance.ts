import { describe, expect } from 'vitest'
import { conforms, server } from './world.ts'

describe('health and version', () => {
  conforms('says its version to anybody', async () => {
    const answer = await server.withToken(undefined).get('/version')
    expect(answer.code).toBe(200)
    expect(answer.body).toMatchObject({
      major: '1',
      minor: expect.stringMatching(/^\d+/),
      gitVersion: expect.any(String),
    })
  })
})
