import { expect, it } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { parseWorld } from '../../src/worlds/parse.ts'
import { catalogue } from '../../tools/index.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

const otherSecret = 'api-key-of-the-other-party'

const worldFile = (rehearsal: boolean) => `
rehearsal: ${rehearsal}
parties:
  acme:
    wallets: { main: { balance: 100000 } }
    agents: { shopper: {} }
  other:
    apiKeys: { main: { secret: ${otherSecret} } }
`

/** Valid attributes for the operations that require them. */
const attributesByOperation: Record<string, object> = {
  save_sandbox: { name: 'x' },
  set_sandbox_fault: { operation: 'get_wallet', fault: 'slow', afterMs: 1 },
  reset_sandbox: {},
}

const managingOperations = (Object.values(catalogue) as OperationDefinition[]).filter(
  ({ permission }) => permission === 'sandbox.manage',
)

onEachDatabase('permission to manage the sandbox', (database) => {
  it.each([
    ['in a rehearsal, only the API key of the first party can manage the sandbox', true],
    ['outside a rehearsal, agents of the first party can manage the sandbox too', false],
  ])('%s', async (_, rehearsal) => {
    const world = await createWorld(database, { world: parseWorld(worldFile(rehearsal), 'world.yaml') })
    expect(managingOperations.length).toBeGreaterThan(5)
    const otherPartyKey = `sk_ntl_sandbox_${otherSecret}`
    for (const { method, path, name } of managingOperations) {
      const call = async (key: string) => {
        const attributes = attributesByOperation[name]
        const { status, json } = await world.send(method, path.replace('{name}', 'x'), {
          key,
          ...(attributes === undefined ? {} : { attributes }),
        })
        return { status, detail: status < 400 ? '' : json.errors[0].detail }
      }
      expect(await call(otherPartyKey), name).toEqual({
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
      // A permitted request can still fail, for example if there is no snapshot with the given name.
      for (const { status } of [...(rehearsal ? [] : [agent]), await call(world.apiKey)]) {
        expect([200, 404, 409], name).toContain(status)
      }
    }
    await world.drop()
  })
})
