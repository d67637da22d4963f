import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue, operationsByName } from '../../tools/index.ts'
import { connectHost } from '../mcp/connected.ts'
import { connectOverHttp } from '../mcp/faulty-connection.ts'
import { hosts } from '../mcp/hosts.ts'
import { ok, payer } from '../payments/payer.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { follow, skillFiles, stepsOf } from './reader.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Options = Parameters<typeof connectHost>[2]

async function hostOf(world: World, options: Options = {}, { open }: Pick<(typeof hosts)[number], 'open'> = hosts[3]) {
  const connection = await connectHost(world, open, options)
  closing.push(connection.close)
  return connection.host
}

interface Listed {
  uri: string
  frontmatter: { name: string; description: string }
  resources: { uri: string; digest: string; size: number }[]
}

const byName = new Map(skillFiles.map((skill) => [skill.name, skill]))
const textOf = (name: string) => byName.get(name)?.text ?? ''
const namesOf = (skills: Listed[]) => skills.map(({ frontmatter }) => frontmatter.name)
const forTheCommandLine = ['rehearse-an-agent-in-ci', 'write-a-scenario']

describe('the skill files', () => {
  const operations: OperationDefinition[] = Object.values(catalogue)
  const operationNames = new Set(operations.map(({ name }) => name))

  test.each(skillFiles)('the skill $name is short, and lists its tools correctly', ({ name, text, frontmatter }) => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
    expect(frontmatter.name).toBe(name)
    const withoutSandbox = text.replace(/^## In the sandbox$[\s\S]*?(?=^## )/m, '')
    const toolsIn = (words: string) =>
      new Set([...words.matchAll(/`([a-z]+(?:_[a-z]+)+)[ `]/g)].map(([, tool = '']) => tool).filter(isTool))
    const verbOf = (word: string) => word.split('_')[0]
    const isTool = (word: string) => [...operationNames].some((tool) => verbOf(tool) === verbOf(word))
    const needed = (frontmatter.metadata?.tools ?? '').split(' ').filter((tool) => tool !== '')
    expect([...toolsIn(text)].filter((tool) => !operationNames.has(tool))).toEqual([])
    expect([...toolsIn(withoutSandbox)].toSorted()).toEqual(needed.toSorted())
    const offered = new Set(toolList(everyTool('sandbox')).map((tool) => tool.name))
    expect([...toolsIn(text)].filter((tool) => !offered.has(tool))).toEqual([])
    for (const { tool, input } of stepsOf(text)) {
      expect(operationsByName.has(tool), input).toBe(true)
    }
  })

  test('the package contains the expected skills', () => {
    expect(skillFiles.map(({ name }) => name)).toEqual([
      'buy-at-a-shop',
      'buy-with-a-card',
      'pay-somebody',
      'recover-a-lost-answer',
      'rehearse-an-agent-in-ci',
      'sell-by-subscription',
      'write-a-scenario',
    ])
  })
})

describe('skills served by the MCP extension', () => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(sqlite)
  })
  afterAll(() => world.drop())

  const listed = async (options: Options, host?: (typeof hosts)[number]) => {
    const connection = await hostOf(world, options, host)
    return (await connection.request('skills/list')).skills as Listed[]
  }

  test.each(hosts)('$host can list, get and read every skill, and gets the unchanged text', async (one) => {
    const host = await hostOf(world, {}, one)
    expect(host.requests.getServerCapabilities()?.extensions).toEqual({ 'io.modelcontextprotocol/skills': {} })
    const { skills, ...rest } = (await host.request('skills/list')) as { skills: Listed[] }
    expect(namesOf(skills)).toEqual(skillFiles.map(({ name }) => name))
    const { ttlMs, cacheScope } = rest as Record<string, unknown>
    const isModern = one.version === '2026-07-28'
    expect([ttlMs, cacheScope]).toEqual(isModern ? [0, 'private'] : [undefined, undefined])
    const { resources } = await host.requests.listResources()
    for (const skill of skills) {
      const { uri, frontmatter } = skill
      expect((await host.request('skills/get', { uri })).skill).toEqual(skill)
      const text = textOf(frontmatter.name)
      const { contents } = await host.requests.readResource({ uri })
      expect(contents).toEqual([{ uri, mimeType: 'text/markdown', text }])
      const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
      expect(skill.resources).toEqual([{ uri, digest, size: Buffer.byteLength(text) }])
      const { name, description } = frontmatter
      expect(resources).toContainEqual({ uri, name, description, mimeType: 'text/markdown' })
    }
  })

  test('a connection offers only the skills whose tools it also offers', async () => {
    expect(namesOf(await listed({ toolsets: ['default'] }))).toEqual([
      'buy-with-a-card',
      'pay-somebody',
      'recover-a-lost-answer',
      ...forTheCommandLine,
    ])
    expect(namesOf(await listed({ toolsets: ['default', 'shops'] }))).toContain('buy-at-a-shop')
    expect(namesOf(await listed({ readOnly: true }))).toEqual(forTheCommandLine)
    expect(namesOf(await listed({ allows: ({ permission }) => permission !== 'payments.create' }))).toEqual([
      'buy-at-a-shop',
      'buy-with-a-card',
      ...forTheCommandLine.slice(0, 1),
      'sell-by-subscription',
      ...forTheCommandLine.slice(1),
    ])
    const host = await hostOf(world, { readOnly: true })
    const uri = 'skill://pay-somebody/SKILL.md'
    await expect(host.request('skills/get', { uri })).rejects.toMatchObject({ code: -32602 })
    await expect(host.requests.readResource({ uri })).rejects.toThrow()
  })

  test.each(hosts)('$host cannot get any other file: unknown URIs are refused', async (one) => {
    const host = await hostOf(world, {}, one)
    for (const uri of ['skill://nothing/SKILL.md', 'skill://../package.json', 'skill://pay-somebody/../../LICENSE']) {
      await expect(host.request('skills/get', { uri })).rejects.toMatchObject({ code: -32602 })
      await expect(host.requests.readResource({ uri })).rejects.toThrow()
    }
    await expect(host.request('skills/get', {})).rejects.toMatchObject({ code: -32602 })
    await expect(host.request('skills/list', { cursor: 'none' })).rejects.toMatchObject({ code: -32602 })
  })
})

onEachDatabase('following only the steps of a skill', (database) => {
  let world: World
  let other: OtherParty
  beforeAll(async () => {
    world = await createWorld(database)
    other = await addParty(world)
  })
  afterAll(() => world.drop())

  const setHandle = async () => {
    ok(await world.send('PUT', '/parties/me/handle', { key: other.apiKey, attributes: { handle: 'mira' } }))
    return '@mira'
  }

  test('an agent buys with a card', async () => {
    const host = await hostOf(world)
    const facts = { MERCHANT: 'Example Store', MAXIMUM: 5_000, AMOUNT: 4_250 }
    const steps = await follow(host, textOf('buy-with-a-card'), facts)
    expect(steps.at(-1)).toMatchObject({
      tool: 'list_card_transactions',
      data: [{ attributes: { status: 'captured', captured: 4_250 } }],
    })
  })

  test('an agent buys at a shop', async () => {
    const host = await hostOf(world)
    const facts = { SHOP: 'plain-goods', PRODUCT: 'stoneware-mug', QUANTITY: 2 }
    const steps = await follow(host, textOf('buy-at-a-shop'), facts)
    expect(steps.at(-1)).toMatchObject({ tool: 'get_shop_order', data: { attributes: { total: 3_600 } } })
  })

  test('an agent pays somebody, waits for the person to approve, and then reads the completed payment', async () => {
    const { setLimits, balance } = payer(world)
    const { agentId } = await world.whoami()
    await setLimits('agents', String(agentId), { perTransaction: 1_000 })
    const host = await hostOf(world)
    const facts = { RECIPIENT: await setHandle(), AMOUNT: 12_000, DESCRIPTION: 'Photographs' }
    const before = (await balance({ key: other.apiKey })).total
    const steps = await follow(host, textOf('pay-somebody'), facts, async ({ tool }, { APPROVAL }) => {
      // The person decides while the agent waits.
      if (tool === 'get_approval') await world.send('POST', `/approvals/${APPROVAL}/approve`, { key: world.apiKey })
    })
    await setLimits('agents', String(agentId), null)
    expect(steps.at(-1)).toMatchObject({ tool: 'get_payment', data: { attributes: { status: 'COMPLETED' } } })
    expect((await balance({ key: other.apiKey })).total - before).toBe(12_000)
  })

  test('an agent recovers from the lost answer to a payment without paying twice', async () => {
    const { balance } = payer(world)
    const facts = { RECIPIENT: other.partyId, AMOUNT: 4_000, DESCRIPTION: 'Flowers' }
    const text = textOf('recover-a-lost-answer').replace('"type":"handle"', '"type":"party_id"')
    const [first] = stepsOf(text)
    expect(first?.tool).toBe('create_payment')
    const before = (await balance({ key: other.apiKey })).total
    const connection = await connectOverHttp({ world, host: hosts[3] })
    closing.push(connection.close)
    connection.nextFaults.push({ kind: 'effect_then_lost' })
    const input = { counterparty: { type: 'party_id', value: other.partyId }, amount: 4_000, description: 'Flowers' }
    await expect(connection.host.callTool('create_payment', input)).rejects.toThrow()
    await follow(connection.host, text, facts)
    expect((await balance({ key: other.apiKey })).total - before).toBe(4_000)
  })

  test('an agent sells by subscription', async () => {
    const host = await hostOf(world)
    const facts = { DESCRIPTION: 'Membership', UNIT: 'month', COUNT: 1, AMOUNT: 1_500, TAX: 0 }
    const steps = await follow(host, textOf('sell-by-subscription'), facts)
    const [payments, events] = steps.slice(-2)
    expect(payments?.data[0]?.attributes).toMatchObject({ status: expect.stringMatching(/paid|scheduled/) })
    expect(payments?.data.map(({ attributes }) => attributes.status)).toContain('paid')
    expect(events?.data.length).toBeGreaterThan(0)
  })
})
