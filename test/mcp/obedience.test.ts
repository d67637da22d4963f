import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ErrorCode, errorTable } from '../../src/core/errors.ts'
import { maskSecrets } from '../../src/core/masking.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { type Connected, connectHost } from './connected.ts'
import { errorOf, hosts, type ToolResult } from './hosts.ts'

type Values = Record<string, unknown>

/** The outcome of a task for a model that does exactly what the field `next` of each error advises. */
interface Ending {
  /** `done`: a call succeeded. `read`: the last advice was to read something. `person`: only a person can help. */
  how: 'done' | 'read' | 'person'
  /** The error codes of the refused calls. */
  codes: string[]
  /** The field `next` of each error. */
  advice: string[]
}

const maxCalls = 6

async function obey(connection: Connected, tool: string, firstInput: Values): Promise<Ending> {
  const ending: Ending = { how: 'person', codes: [], advice: [] }
  let input = firstInput
  for (let step = 0; step < maxCalls; step++) {
    const result = await connection.host.callTool(tool, input)
    if (result.isError !== true) return { ...ending, how: 'done' }
    const { code, next } = errorOf(result) as { code: string; next: string }
    ending.codes.push(code)
    ending.advice.push(next)
    if (next.startsWith('Put money in with fund_sandbox_wallet')) {
      const funded = await connection.host.callTool('fund_sandbox_wallet', { customerId: us, amount: 2_000_000 })
      expect(funded.isError, funded.content[0]?.text).not.toBe(true)
    }
    const changed = followAdvice(input, next)
    if (changed === 'person') return ending
    if (typeof changed === 'object') input = changed
    else {
      const read = await connection.host.callTool(changed.slice('read '.length), readArguments(changed, input))
      expect(read.isError, `${next}: ${read.content[0]?.text}`).not.toBe(true)
      return { ...ending, how: 'read' }
    }
  }
  throw new Error(`no end after ${maxCalls} calls: ${ending.advice.join(' | ')}`)
}

/** Returns the next call's arguments, or `read` and a tool's name, or `person` if only a person can help. */
function followAdvice(input: Values, next: string): Values | `read ${string}` | 'person' {
  const key = /unchanged with idempotencyKey "([^"]+)"/.exec(next)?.[1]
  if (key !== undefined) return { ...input, idempotencyKey: key }
  if (!/call again/i.test(next) || /^Call \w+ (and decide|to find)|Do not call again/.test(next)) {
    const tool = /\bCall (\w+_\w+)/i.exec(next)?.[1]
    return tool === undefined ? 'person' : `read ${tool}`
  }
  if (/^(Have|Tell|Ask|Give|Choose|Add)\b/.test(next)) return 'person'
  const { idempotencyKey: _, ...changed } = input
  for (const [, name = '', from, maximum] of next.matchAll(
    /correct (?:or leave out )?([\w.]+)(?:, (?:(\d+) to |at most )(\d+))?/gi,
  )) {
    if (maximum !== undefined) changed[name] = Number(maximum)
    else if (/leave out/.test(next)) delete changed[name]
    else return 'person'
    expect(Number(from ?? 0)).toBeLessThanOrEqual(Number(maximum ?? 0))
  }
  for (const [, name = ''] of next.matchAll(/(?<!or )leave out (\w+)/gi)) delete changed[name]
  for (const [, to = '', name = ''] of next.matchAll(/send (\w+) instead of (\w+)/gi)) {
    changed[to] = changed[name]
    delete changed[name]
  }
  return changed
}

const tools = toolList(everyTool('sandbox'))

function readArguments(action: string, input: Values): Values {
  const { inputSchema } = tools.find(({ name }) => `read ${name}` === action) ?? { inputSchema: { properties: {} } }
  const names = Object.keys(inputSchema.properties ?? {})
  return Object.fromEntries(Object.entries(input).filter(([name]) => names.includes(name) && name !== 'limit'))
}

const refuse = (code: ErrorCode, meta: object = {}) => {
  const { status, detail } = errorTable[code]
  const error = { code, detail, status: String(status), meta: { supportId: 'req_1', ...meta } }
  return Response.json({ errors: [error] }, { status })
}

const dollars = (amount: number) => ({ amount, currency: 'USD' })
const card = { merchant: { name: 'Books' }, maximumAmount: 5_000, currency: 'USD' }

let world: World
let payee: string
let us: string
beforeAll(async () => {
  world = await createWorld(sqlite)
  payee = (await addParty(world)).partyId
  us = (await world.whoami()).partyId
})
afterAll(() => world.drop())

/** Adds money to the wallet, because the model may have spent everything. */
async function refillWallet(): Promise<void> {
  const { status, text } = await world.post(`/simulations/customers/${us}/transfers/deposit`, { amount: 10_000 })
  if (status !== 200) throw new Error(text)
}

const paymentOf = (amount: number) => ({ amount, counterparty: { type: 'party_id', value: payee } })
const dataOf = (result: ToolResult) => {
  if (result.structuredContent === undefined) throw new Error(result.content[0]?.text)
  return result.structuredContent.data
}

describe.each([hosts[0], hosts[3]])('the advice in the error field next, $host', ({ open }) => {
  test.each(Object.keys(errorTable) as ErrorCode[])(
    'after %s, an obedient model stops within six calls, and reuses a key only if the error is temporary',
    async (code) => {
      let refusals = 5
      const between = ({ method }: Request) => (method !== 'GET' && refusals-- > 0 ? refuse(code) : undefined)
      const connection = await connectHost(world, open, { between })
      const { codes, advice, how } = await obey(connection, 'issue_agent_card', card)
      expect(codes[0]).toBe(code)
      expect(how === 'done' || codes.length < maxCalls).toBe(true)
      for (const next of advice) {
        expect(maskSecrets(next)).toBe(next)
        expect(next).toMatch(/[a-z]+_[a-z_]+|idempotencyKey|call again|PAYMENTS_/)
      }
      const keys = connection.sent.filter(({ line }) => line === 'POST /agent-cards').map((sent) => sent.idempotencyKey)
      const isTemporary = ['rate_limited', 'bad_gateway', 'service_unavailable'].includes(code)
      if (!isTemporary) expect(new Set(keys).size).toBe(keys.length)
      await connection.close()
    },
  )

  test('with random amounts and used keys, an obedient model succeeds or is told what to read', async () => {
    const connection = await connectHost(world, open, {})
    const { host } = connection
    const keyed = async (tool: string, input: Values, idempotencyKey: string) => {
      await host.callTool(tool, { ...input, idempotencyKey })
      return idempotencyKey
    }
    let count = 0
    const usedKey = () => keyed('issue_agent_card', card, `key ${++count} of ${open.name} at ${world.system.now()}`)
    const purchase = async (cents: number) => {
      await refillWallet()
      const cardId = dataOf(await host.callTool('issue_agent_card', card)).id
      const authorization = await host.callTool('simulate_card_authorization', {
        cardId,
        merchant: card.merchant,
        ...dollars(cents),
      })
      return dataOf(authorization).id
    }
    const steps = fc.record({
      tool: fc.constantFrom('issue', 'capture', 'refund', 'pay', 'reverse twice', 'cancel'),
      amount: fc.integer({ min: 1, max: 400_000 }),
      reuses: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(steps, async ({ tool, amount, reuses }) => {
        const key = reuses ? { idempotencyKey: await usedKey() } : {}
        const calls: Record<typeof tool, () => Promise<Ending>> = {
          issue: () => obey(connection, 'issue_agent_card', { ...card, maximumAmount: amount, ...key }),
          pay: () => obey(connection, 'create_payment', { ...paymentOf(amount * 3), ...key }),
          capture: async () => {
            const cardTransactionId = await purchase(4_250)
            return obey(connection, 'simulate_card_capture', { cardTransactionId, ...dollars(amount), ...key })
          },
          refund: async () => {
            const cardTransactionId = await purchase(4_250)
            await host.callTool('simulate_card_capture', { cardTransactionId, ...dollars(4_000) })
            return obey(connection, 'simulate_card_refund', { cardTransactionId, ...dollars(amount), ...key })
          },
          'reverse twice': async () => {
            const cardTransactionId = await purchase(4_250)
            await host.callTool('simulate_card_reversal', { cardTransactionId })
            return obey(connection, 'simulate_card_reversal', { cardTransactionId, ...key })
          },
          cancel: async () => {
            await refillWallet()
            const paymentId = dataOf(await host.callTool('create_payment', paymentOf(1))).id
            return obey(connection, 'cancel_payment', { paymentId, ...key })
          },
        }
        const { how, codes } = await calls[tool]()
        expect(how).not.toBe('person')
        if (how === 'read') expect(['cancel', 'reverse twice'].includes(tool) || codes.includes('conflict')).toBe(true)
      }),
      { numRuns: isDeep ? 25 : 10 },
    )
    await connection.close()
  })

  test('advice about an excessive amount states the maximum and, for a payment, how to add money', async () => {
    await refillWallet()
    const connection = await connectHost(world, open, {})
    const { host } = connection
    const cardId = dataOf(await host.callTool('issue_agent_card', card)).id
    const bought = await host.callTool('simulate_card_authorization', {
      cardId,
      merchant: card.merchant,
      ...dollars(4_250),
    })
    const capture = { cardTransactionId: dataOf(bought).id, ...dollars(5_000) }
    const refused = errorOf(await host.callTool('simulate_card_capture', capture))
    expect(refused.next).toBe('Correct amount, at most 4250, and call again without idempotencyKey.')
    expect(refused).not.toHaveProperty('idempotencyKey')
    const unaffordable = errorOf(await host.callTool('create_payment', paymentOf(98_765_432)))
    expect(unaffordable.next).toMatch(
      /^Correct amount, at most \d+, and call again without idempotencyKey; or first put money in with fund_sandbox_wallet/,
    )
    const funded = await host.callTool('fund_sandbox_wallet', { customerId: us, amount: 100 })
    expect(funded.isError, funded.content[0]?.text).not.toBe(true)
    await connection.close()
  })

  test('after a 503, the advice is to keep the key until the result is known, even if a 429 and a 401 follow', async () => {
    const statuses = [503, 503, 503, 503, 429, 429, 429, 429, 401]
    const codes: Record<number, ErrorCode> = { 503: 'service_unavailable', 429: 'rate_limited', 401: 'unauthenticated' }
    const between = ({ method }: Request) => {
      const status = method === 'GET' ? undefined : statuses.shift()
      return status === undefined ? undefined : refuse(codes[status] ?? 'server_error')
    }
    const connection = await connectHost(world, open, { between })
    const ending = await obey(connection, 'issue_agent_card', card)
    expect(ending).toMatchObject({ how: 'done', codes: ['service_unavailable', 'rate_limited', 'unauthenticated'] })
    const keys = connection.sent.filter(({ line }) => line === 'POST /agent-cards').map((sent) => sent.idempotencyKey)
    expect(new Set(keys).size).toBe(1)
    await connection.close()
  })
})
