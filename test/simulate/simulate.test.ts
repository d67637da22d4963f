import { describe, expect, it } from 'vitest'
import type { Action } from '../../src/simulate/action.ts'
import { runHistory } from '../../src/simulate/run.ts'
import type { SimulationResult } from '../../src/simulate/simulate.ts'
import { databases } from '../support/databases.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { alterAnswers, type Fault, localTarget, matches, rekey, sendTwice, simulateInProcess } from './in-process.ts'

const sha256Of = ({ report }: SimulationResult) => /sha256 ([0-9a-f]{64})/.exec(report)?.[1]

describe('simulations on the real service', () => {
  it('every answer is as predicted, and every kind of answer occurs', async () => {
    // These seeds produce all outcomes within the given number of purchases.
    const result = await simulateInProcess(isDeep ? { purchases: 40, seed: 'k' } : { purchases: 12, seed: 'a' })
    expect(result.report).toContain('every answer was as predicted; money is conserved')
    expect(result.exitCode).toBe(0)
    for (const outcome of [
      'authorized',
      'captured',
      'partially_captured',
      'reversed',
      'refunded',
      'replayed',
      'conflict',
      'not_found',
      'invalid_value',
      'card_purchase_simulation_not_allowed',
      'declined: insufficient_funds',
      'declined: single_use_amount_over_maximum',
      'declined: single_use_card_expired',
      'declined: single_use_card_used',
    ]) {
      expect(result.report).toMatch(new RegExp(`\\s${outcome}\\s+\\d+`))
    }
    expect(result.report).toMatch(/\nfaults {3}[1-9]\d* requests and tool calls got an injected fault\n/)
    expect(result.log).toContainEqual(expect.stringMatching(/Sandbox Unresolved.* -> cardTransaction/))
    expect(result.log.filter((line) => /\d{13}|(pcd|cit|pty|wal)_/.test(line))).toEqual([])
  })

  it('the log is the same for the same seed, and different for another seed', async () => {
    const small = isDeep ? { agents: 3, purchases: 5 } : { agents: 1, purchases: 3 }
    const [first, second, other] = [
      await simulateInProcess(small),
      await simulateInProcess(small),
      await simulateInProcess({ ...small, seed: 'other' }),
    ]
    expect(second.log).toEqual(first.log)
    expect(sha256Of(first)).toMatch(/./)
    expect(sha256Of(second)).toBe(sha256Of(first))
    expect(other.log).not.toEqual(first.log)
    expect([first.exitCode, other.exitCode]).toEqual([0, 0])
  })

  it.runIf(isDeep).each(['a', 'b', 'c', 'd', 'e', 'f'])('every answer is as predicted (seed %s)', async (seed) => {
    expect((await simulateInProcess({ agents: 2, purchases: 8, seed })).report).toContain('as predicted')
  })

  it.runIf(isDeep).each(databases)('concurrent agents on $name get the predicted answers', async (database) => {
    const target = localTarget(undefined, database)
    const load = { target, agents: 4, purchases: 8 }
    const result = await simulateInProcess({ ...load, concurrency: 4 })
    expect(result.report).toContain('every answer was as predicted; money is conserved')
    expect((await simulateInProcess({ ...load, concurrency: 2 })).log).toEqual(result.log)
    expect(result.log.filter((line) => line.includes('advance_sandbox_clock'))).toEqual([])
  })

  it('a simulation stops when it is interrupted', async () => {
    const controller = new AbortController()
    const onStep = (done: number) => {
      if (done === 5) controller.abort()
    }
    const result = await simulateInProcess({ signal: controller.signal, onStep })
    expect(result).toMatchObject({ exitCode: 130, mismatch: undefined })
    expect(result.log).toHaveLength(5)
  })
})

const capture = /\/capture$/
const faults: { name: string; fault: Fault; steps: number; shows: RegExp }[] = [
  {
    name: 'reports a wrong captured amount',
    fault: alterAnswers('POST', capture, (text) => text.replace(/"captured":(\d+)/, '"captured":1$1')),
    steps: 3,
    shows: /simulate_card_capture/,
  },
  { name: 'refunds twice', fault: sendTwice(/\/refund$/), steps: 4, shows: /simulate_card_refund/ },
  { name: 'captures twice', fault: sendTwice(capture), steps: 3, shows: /actual +error code=card_purchase/ },
  {
    name: 'ignores idempotency keys',
    fault: (fetch) => {
      let count = 0
      return async (request) => {
        const again = new Request(request)
        if (request.headers.has('Idempotency-Key')) again.headers.set('Idempotency-Key', `other ${count++}`)
        return fetch(again)
      }
    },
    steps: 4,
    shows: /expected/,
  },
  {
    name: 'replays an answer with changes',
    fault: (fetch) => async (request) => {
      const response = await fetch(request)
      if (response.headers.get('X-Idempotency-Replayed') !== 'true') return response
      const text = await response.text()
      return new Response(text.replace(/"(req_|run-)[^"]*"/, '"$1other"'), response)
    },
    steps: 5,
    shows: /A repeated call did not return the identical answer/,
  },
  {
    name: 'shows a wrong balance',
    fault: alterAnswers('GET', /\/wallets$/, (text) => text.replace(/"available":2(?!50000)/, '"available":1')),
    steps: 3,
    shows: /expected .*available=2\d+ .*\nactual .*available=1/,
  },
  {
    name: 'starts with wrong balances',
    fault: alterAnswers('GET', /\/wallets$/, (text) => text.replaceAll('250000', '250001')),
    steps: 0,
    shows: /A new sandbox does not have the seeded balances/,
  },
  {
    name: 'omits records from a list',
    fault: (fetch) => async (request) => {
      const response = await fetch(request)
      if (!matches(request, 'GET', /\/card-transactions$/) || new URL(request.url).searchParams.has('cardId')) {
        return response
      }
      const body = (await response.json()) as { data: { attributes: { status: string } }[] }
      const data = body.data.filter(({ attributes }) => attributes.status !== 'declined')
      return new Response(JSON.stringify({ ...body, data }), response)
    },
    steps: 2,
    shows: /Final check: all records are read again[\s\S]*actual +nothing/,
  },
]

describe('simulations on a faulty service', () => {
  it('a service that lets a frozen card pay is detected', async () => {
    const steps = [
      { tool: 'issue_agent_card', merchant: 'Books', maximum: 100, makes: 'card-1' },
      { tool: 'freeze_agent_card', subject: 'card-1' },
      { tool: 'simulate_card_authorization', subject: 'card-1', amount: 5, merchant: 'Books', makes: 'purchase-1' },
    ] as const
    const history = steps.map((step, at): Action => ({ step: at + 1, agent: 1, party: 'own', ...step }))
    const thawing: Fault = (fetch) => async (request) => {
      if (matches(request, 'POST', /\/authorize$/)) {
        const url = request.url.replace('/simulations', '').replace(/authorize$/, 'unfreeze')
        const thaw = new Request(url, { method: 'POST', headers: request.headers, body: '{"data":{"attributes":{}}}' })
        await fetch(rekey(thaw))
      }
      return fetch(request)
    }
    const run = (fault?: Fault) =>
      runHistory(() => history, [1], {
        target: localTarget(fault),
        system: fakeSystem(),
        concurrency: 1,
        faults: 'lost 46',
      })
    expect((await run()).mismatch).toBeUndefined()
    expect((await run(thawing)).mismatch).toMatchObject({ expected: expect.stringContaining('conflict') })
  })

  it('a failure is reported even if no further run can be started to shorten the history', async () => {
    const { isolated, open } = localTarget(faults[0]?.fault)
    let worlds = 0
    const once = async () => {
      if (worlds++ > 0) throw new Error('the disk is full')
      return await open()
    }
    const result = await simulateInProcess({ target: { isolated, open: once }, agents: 3, purchases: 15 })
    expect(result.exitCode).toBe(1)
    expect(result.report).toMatch(/FAILED after[\s\S]*No further run could be started to shorten the history/)
  })

  it.each(sampleOf(faults, 8))('a service that $name is detected', async ({ fault, steps, shows }) => {
    const result = await simulateInProcess({ target: localTarget(fault), agents: 3, purchases: 15 })
    expect(result.exitCode).toBe(1)
    expect(result.history.length).toBeLessThanOrEqual(steps)
    expect(result.report).toContain(
      steps === 0 ? 'The run failed before its first action' : 'The shortest failing history found',
    )
    expect(result.report).toMatch(shows)
  })
})
