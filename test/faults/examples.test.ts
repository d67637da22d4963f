import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../src/config/log.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
const helper = /^call\(\) \{[\s\S]*?^\}/m.exec(document)?.[0] ?? ''
const examples = /^## Faults$[\s\S]*?^```sh\n([\s\S]*?)^```/m.exec(document)?.[1] ?? ''

let world: World
let listener: Listener
beforeAll(async () => {
  world = await createWorld(sqlite)
  const { service } = world
  const log = createLogger({ level: 'silent' })
  listener = await listen({ fetch: service.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
})
afterAll(async () => {
  await listener.close()
  await world.drop()
})

test('the examples of faults in docs/sandbox.md work as described', async () => {
  const url = listener.url.replace(/\/$/, '')
  const script = `KEY=${world.agentKey}\n${helper.replaceAll('http://127.0.0.1:4010', url)}\n${examples}`
  const commandOutput = await new Promise<string>((resolve) => {
    execFile('bash', ['-c', script], { timeout: 60_000 }, (_error, stdout) => resolve(stdout))
  })
  // Each call prints its answer and a newline. If the connection is cut, the line is empty.
  const answers = commandOutput.split('\n').map((line) => (line === '' ? undefined : JSON.parse(line)))
  const [set, lost, issued, busy, list, cleared, slow, limited, empty, rest] = answers
  expect(set.data.attributes).toMatchObject({ operation: 'issue_agent_card', fault: 'effect_then_lost' })
  expect(lost).toBeUndefined()
  expect((await world.get('/agent-cards')).json.data).toHaveLength(1)
  expect((await world.get('/agent-cards')).json.data[0].id).toBe(issued.data.id)
  expect(busy.data.id).toBe('busy')
  expect(list.data.map(({ id }: { id: string }) => id)).toEqual(['sandbox_unresolved', set.data.id, 'busy'])
  expect(list.data[1].attributes).toMatchObject({ matched: 2, hits: 1 })
  expect(cleared.data).toHaveLength(1)
  expect(slow.data.type).toBe('whoami')
  expect(world.system.slept).toContain(500)
  expect(limited.errors[0].code).toBe('rate_limited')
  expect(empty).toEqual({ data: [], meta: { pagination: { hasMore: false, nextCursor: null } } })
  expect(rest.data.map(({ id }: { id: string }) => id)).toEqual([set.data.id])
})
