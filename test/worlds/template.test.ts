import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseWorld } from '../../src/worlds/parse.ts'
import { WorldFileError } from '../../src/worlds/parse-file.ts'
import { worldTemplate } from '../../src/worlds/template.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
const documented = [...document.matchAll(/```yaml\n([\s\S]*?)```/g)]
  .map(([, text = '']) => text)
  .filter((text) => /^parties:/m.test(text))

onEachDatabase('a purchase in an example world', (database) => {
  it.each<readonly [string, string]>([
    ['the world that init writes', worldTemplate('world.yaml')],
    ['the world that init writes, with all examples uncommented', worldTemplate('world.yaml', true)],
    ...documented.map((text, at) => [`world ${at + 1} of docs/sandbox.md`, text] as const),
  ])('an agent can buy something in %s', async (_, text) => {
    const world = await createWorld(database, { world: parseWorld(text, 'world.yaml') })
    const available = async () => {
      const { json } = await world.get('/wallets')
      type Wallet = { attributes: { isDefault: boolean; balance: { available: number } } }
      return (json.data as Wallet[]).find(({ attributes }) => attributes.isDefault)?.attributes.balance.available
    }
    expect(await available()).toBe(250_000)
    const cardId = await world.issueCard()
    const purchase = await world.authorize(cardId, 4250)
    const capture = { amount: 4250, currency: 'USD' }
    await world.post(`/simulations/card-transactions/${purchase.json.data.id}/capture`, capture)
    expect(await available()).toBe(250_000 - 4250)
    await world.drop()
  })
})

describe('the world file that init writes', () => {
  it('the lines of the file fit in a terminal, and a comment shows how to start the sandbox with the file', () => {
    for (const line of worldTemplate('world.yaml').split('\n')) {
      expect(line.length).toBeLessThanOrEqual(105)
      expect(line).toBe(line.trimEnd())
    }
    expect(worldTemplate('world.yaml')).toContain('payments-mcp serve --world world.yaml')
  })
})

it('the error messages that docs/sandbox.md shows are the real ones', () => {
  expect(documented).toHaveLength(2)
  const text = documented[1]?.replace('balance: 250000', 'balance: "2500.00"').replace('    agents:', '    agent:')
  const documentedErrors = /```text\n(world\.yaml:[\s\S]*?)```/.exec(document)?.[1]
  const parse = () => parseWorld(text ?? '', 'world.yaml')
  expect(parse).toThrow(WorldFileError)
  expect(parse).toThrow(documentedErrors?.trimEnd())
})
