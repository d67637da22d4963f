import { expect, it } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { parseWorld } from '../../src/worlds/parse.ts'
import { catalogue } from '../../tools/index.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

const otherKey = 'api-key-of-the-other-party'

const file = (rehearsal: boolean) => `
rehearsal: ${rehearsal}
parties:
  acme:
    wallets: { main: { balance: 100000 } }
    agents: { shopper: {} }
  other:
    apiKeys: { main: { secret: ${otherKey} } }
`

/** The attributes of a permitted request for each operation that manages the sandbox. */
const sent: Record<string, object> = {
  save_sandbox: { name: 'x' },
  set_sandbox_fault: { operation: 'get_wallet', fault: 'slow', afterMs: 1 },
  reset_sandbox: {},
}

const managing = (Object.values(catalogue) as OperationDefinition[]).filter(
  ({ permission }) => permission === 'sandbox.manage',
)

onEachDatabase('the manager of the sandbox', (database) => {
  it.each([
    ['in a rehearsal, the key of the first party alone', true],
    ['else, its agents too', false],
  ])('is, %s', async (_, rehearsal) => {
    const world = await createWorld(database, { world: parseWorld(file(rehearsal), 'world.yaml') })
    expect(managing.length).toBeGreaterThan(5)
    const others = { key: `sk_ntl_sandbox_${otherKey}` }
    for (const { method, path, name } of managing) {
      const call = async (key: string) => {
        const attributes = sent[name]
        const { status, json } = await world.send(method, path.replace('{name}', 'x'), {
          key,
          ...(attributes === undefined ? {} : { attributes }),
        })
        return { status, detail: status < 400 ? '' : json.errors[0].detail }
      }
      expect(await call(others.key), name).toEqual({
        status: 403,
        detail: "Only the first party of the sandbox's world can manage the sandbox. Use one of that party's keys.",
      })
      const agent = await call(world.agentKey)
      if (rehearsal) {
        expect(agent, name).toEqual({
          status: 403,
          detail: 'Agents cannot manage this sandbox. Use the API key of its first party.',
        })
      }
      // A restore may find no snapshot, but it is permitted.
      for (const { status } of [...(rehearsal ? [] : [agent]), await call(world.apiKey)]) {
        expect([200, 404, 409], name).toContain(status)
      }
    }
    await world.drop()
  })
})
