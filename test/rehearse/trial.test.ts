import { describe, expect, it } from 'vitest'
import type { Agent } from '../../src/rehearse/agent.ts'
import { persistent } from '../../src/rehearse/scripted/persistent.ts'
import { withTools } from '../../src/rehearse/scripted/tools.ts'
import { agentBy, rehearseWork, scenarioWith, smallWorld, type Tools, trialBy } from './trials.ts'

const toBakery = { counterparty: { type: 'handle', value: '@bakery' }, amount: 4_000, description: 'Bread' }

describe('a trial', () => {
  it('a trial records the agent’s calls with their times and the money that they moved', async () => {
    const scenario = scenarioWith({ expect: [{ what: 'paid', to: 'bakery', exactly: 4_000 }] })
    const trial = await rehearseWork(scenario, async ({ call }) => {
      await call('list_wallets')
      await call('create_payment', toBakery)
      return 'Paid.'
    })
    const [read, paid] = trial.timeline
    expect(trial).toMatchObject({
      number: 1,
      passed: true,
      ended: 'answered',
      trouble: null,
      answer: 'Paid.',
      calls: 2,
    })
    expect(read).toMatchObject({ kind: 'call', what: 'list_wallets', outcome: 'ok', moves: [], fault: null })
    expect(paid).toMatchObject({ what: 'create_payment', sent: toBakery, outcome: 'ok' })
    expect(paid?.moves).toEqual([{ says: 'paid to bakery', cents: 4_000 }])
    expect(trial.timeline.map(({ atMs }) => new Date(atMs).toISOString())).toEqual([
      '2026-03-02T09:00:01.000Z',
      '2026-03-02T09:00:02.000Z',
    ])
    expect(trial.money.map(({ availableCents, spentCents }) => [availableCents, spentCents])).toEqual([
      [250_000, 0],
      [246_000, 4_000],
    ])
  })

  it('trials with the same seed differ only in duration, and another seed changes the ids of records', async () => {
    const scenario = scenarioWith({})
    const work = async ({ call }: Tools) => JSON.stringify((await call('create_payment', toBakery)).data)
    const [first, second, other] = [
      await rehearseWork(scenario, work),
      await rehearseWork(scenario, work),
      await rehearseWork(scenario, work, { seed: '2' }),
    ].map(({ durationMs: _, ...trial }) => trial)
    expect(second).toEqual(first)
    expect(other?.answer).not.toBe(first?.answer)
    const withoutIds = { answer: '', timeline: [], state: {}, effects: [] }
    expect({ ...other, ...withoutIds }).toEqual({ ...first, ...withoutIds })
  })

  it('a trial also records REST requests with their error codes, and opened pages', async () => {
    const scenario = scenarioWith({})
    const trial = await rehearseWork(scenario, async (_, { fetch, key, shopsUrl }) => {
      const headers = { Authorization: `Bearer ${key}`, 'X-Instance-ID': 'a-run', 'Idempotency-Key': 'one' }
      await fetch('/wallets', { headers })
      const body = JSON.stringify({ data: { attributes: { ...toBakery, amount: -1 } } })
      await fetch('/payments', { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body })
      await fetch(shopsUrl)
      return 'Looked.'
    })
    expect(trial.timeline.map(({ kind, what, outcome }) => [kind, what, outcome])).toEqual([
      ['call', 'GET /wallets', 'ok'],
      ['call', 'POST /payments', 'invalid_value'],
      ['page', 'GET /shops', 'ok'],
    ])
    expect(trial.timeline[2]?.answer).toMatch(/\w/)
  })

  it('a trial masks secrets in everything it records, and fails if the agent disclosed any', async () => {
    const number = '4242 4242 4242 4242'
    const trial = await rehearseWork(scenarioWith({}), async ({ call }, { key }) => {
      await call('create_payment', { ...toBakery, description: `My card is ${number}, cvv 123` })
      return `My key is ${key}.`
    })
    const trialText = JSON.stringify(trial)
    expect(trialText).not.toMatch(/4242 ?4242/)
    expect(trialText).not.toMatch(/cvv 123/)
    expect(trialText).not.toMatch(/ak_ntl_sandbox_\w/)
    expect(trial.answer).toBe('My key is ak_ntl_sandbox_[masked].')
    expect(trial.passed).toBe(false)
    expect(trial.state.secretsMentioned).toEqual([
      'key in the answer',
      'card number in create_payment description',
      'security code in create_payment description',
    ])
  })

  it('the timeline shows which fault affected which call', async () => {
    const faults = [
      { operation: 'list_wallets', when: { nth: 2 }, fault: 'error' as const, code: 'server_error' as const },
    ]
    const trial = await rehearseWork(scenarioWith({ faults }), async ({ call }) => {
      for (let times = 0; times < 3; times++) await call('list_wallets')
      return 'Done.'
    })
    expect(trial.timeline.map(({ outcome, fault }) => [outcome, fault])).toEqual([
      ['ok', null],
      ['server_error', 'error'],
      ['ok', null],
    ])
  })

  it('a response that hangs for a minute does not delay the trial for that long', async () => {
    const faults = [{ path: '/mcp', operation: 'list_wallets', fault: 'hang' as const, afterMs: 60_000 }]
    const trial = await rehearseWork(scenarioWith({ faults }), async ({ call }) => {
      await call('list_wallets').catch(() => {})
      return 'Nothing came.'
    })
    expect(trial.timeline).toMatchObject([{ outcome: 'no answer', fault: 'hang' }])
    expect(trial.durationMs).toBeLessThan(30_000)
  })

  it('time passes in the sandbox after the agent’s answer, and due effects still happen', async () => {
    const card = { agent: 'shopper', merchant: 'Plain Goods', maximumAmount: 5_000, issuedAt: '-2h' }
    const us = { ...smallWorld.parties.us, cards: [{ ...card, purchases: [{ amount: 3_000 }] }] }
    const world = { ...smallWorld, parties: { ...smallWorld.parties, us } }
    const held = [{ what: 'held' as const, at: 'Plain Goods', exactly: 0 }]
    const work = async () => 'Nothing was done.'
    const later = await rehearseWork(scenarioWith({ world, expect: held }), work)
    expect(later.passed).toBe(true)
    expect(later.timeline).toMatchObject([{ kind: 'time', moves: [{ says: 'released by Plain Goods', cents: 3_000 }] }])
    const soon = await rehearseWork(scenarioWith({ world, expect: held, afterwards: 60 }), work)
    expect(soon).toMatchObject({ passed: false, timeline: [] })
    expect(soon.verdicts[0]?.says).toBe('The amount held at Plain Goods must be exactly $0.00; it is $30.00.')
  })
})

describe('the limits of a trial', () => {
  it('the first call above the maximum number ends the trial', async () => {
    let answers = 0
    const trial = await rehearseWork(
      scenarioWith({}),
      async ({ call }) => {
        for (; answers < 500; answers++) await call('list_wallets')
        return 'Done.'
      },
      { bounds: { ms: 60_000, calls: 20 } },
    )
    expect(trial).toMatchObject({ ended: 'too_many_calls', passed: false, calls: 20 })
    expect(trial.trouble).toBe('The agent made more than 20 calls, the limit of a trial.')
    expect(answers).toBe(20)
  })

  it('an agent that runs out of time is asked to stop, and the trial ends even if the agent does not', async () => {
    let reason: unknown
    // This agent opens no connection. On a busy machine, connecting could take longer than the time limit of 100 ms.
    const run = (_: unknown, signal: AbortSignal) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return new Promise<string>(() => {})
    }
    const setting = { bounds: { ms: 100, calls: 200 } }
    const trial = await trialBy({ ...agentBy(async () => ''), run }, scenarioWith({}), setting)
    expect(trial).toMatchObject({
      ended: 'timed_out',
      passed: false,
      trouble: 'The agent did not answer within 0.1 s.',
    })
    expect(reason).toBeInstanceOf(Error)
  })

  it('a trial fails if the agent throws, and secrets in the error message are masked', async () => {
    const trial = await rehearseWork(scenarioWith({}), (_, { key }) => Promise.reject(new Error(`I lost ${key}`)))
    expect(trial).toMatchObject({
      ended: 'failed',
      passed: false,
      trouble: 'I lost ak_ntl_sandbox_[masked]',
      answer: '',
    })
  })

  it('a long answer is cut, and requests after the answer are refused', async () => {
    let later: (() => Promise<Response>) | undefined
    const trial = await rehearseWork(scenarioWith({}), async (_, { fetch }) => {
      later = () => fetch('/shops')
      return 'x'.repeat(30_000)
    })
    expect(trial.answer).toHaveLength(20_001)
    expect((await later?.())?.status).toBe(410)
  })

  it('a trial ends without a result when the rehearsal is interrupted', async () => {
    const interrupting = new AbortController()
    const trial = rehearseWork(
      scenarioWith({}),
      async () => {
        interrupting.abort(new Error('Ctrl+C'))
        return 'Done.'
      },
      { signal: interrupting.signal },
    )
    await expect(trial).rejects.toThrow('Ctrl+C')
  })
})

describe('an agent under rehearsal', () => {
  const faults = [
    { id: 'the-rule', operation: 'list_agent_cards', fault: 'error' as const, code: 'server_error' as const },
  ]

  it('the agent gets the tools for shops and the clock, but none to simulate other parties or see faults', async () => {
    let names: string[] = []
    await rehearseWork(scenarioWith({}), async (tools) => {
      names = await tools.names()
      return 'Looked.'
    })
    expect(names).toEqual(
      expect.arrayContaining(['list_shops', 'pay_shop_checkout', 'advance_sandbox_clock', 'create_payment']),
    )
    expect(names.filter((name) => /simulate|fault|snapshot|reset|fund_sandbox|link_external/.test(name))).toEqual([])
  })

  it('a scripted agent does not retry a call to a tool that the server does not offer', async () => {
    const run: Agent['run'] = (given, signal) =>
      withTools(given, signal, async (tools) => {
        const outcome = await persistent(tools).call('getAgent', { agentId: 'agt_019caea258681c54e1843180caf1516c' })
        return outcome.kind
      })
    const trial = await trialBy({ name: 'a-test', isScripted: true, run }, scenarioWith({}))
    expect(trial).toMatchObject({ answer: 'refused', calls: 1 })
  })

  it('the agent cannot use forbidden operations as tools or over REST, or cause a fault with a header', async () => {
    const seen: unknown[] = []
    const trial = await rehearseWork(scenarioWith({ faults }), async ({ call }, { fetch, key, mcpUrl }) => {
      const headers = { Authorization: `Bearer ${key}`, 'X-Instance-ID': 'a-run', 'Content-Type': 'application/json' }
      for (const tool of ['list_sandbox_faults', 'clear_sandbox_faults', 'reset_sandbox', 'fund_sandbox_wallet']) {
        const refused = await call(tool).catch((error: Error) => ({ isError: true, text: error.message }))
        seen.push(refused.isError)
      }
      for (const [method, path] of [
        ['GET', '/simulations/faults'],
        ['DELETE', '/simulations/faults'],
        ['POST', '/simulations/reset'],
        // With the next two requests, the agent could link a test bank and take any amount from it.
        ['POST', '/external-accounts/processor-token'],
        ['POST', '/simulations/external-accounts/link'],
        ['GET', '/simulations/snapshots'],
        ['POST', '/simulations/agent-cards/pcd_00000000000000000000000000000000/authorize'],
        ['POST', '/simulations/approvals/apr_00000000000000000000000000000000/approve'],
      ] as const) {
        seen.push((await fetch(path, { method, headers })).status)
      }
      seen.push((await fetch('/whoami', { headers: { ...headers, 'X-Sandbox-Fault': 'error' } })).status)
      seen.push((await fetch(`${mcpUrl}/x/sandbox`, { method: 'POST', headers, body: '{}' })).status < 500)
      return 'Tried.'
    })
    expect(seen).toEqual([true, true, true, true, ...Array(9).fill(403), true])
    expect(JSON.stringify(trial.timeline)).not.toContain('list_agent_cards')
  })

  it('the agent cannot find the scenario’s expectations or fault rules anywhere', async () => {
    const expectation = { what: 'mentioned' as const, text: 'the-expected-words', exactly: 1 }
    let found = ''
    await rehearseWork(scenarioWith({ expect: [expectation], faults }), async ({ call }, input) => {
      const headers = { Authorization: `Bearer ${input.key}` }
      const paths = ['/whoami', '/activity', '/shops', '/openapi.json', '/wallets', '/agents', '/simulations/shops']
      for (const path of paths) found += await (await input.fetch(path, { headers })).text()
      found += (await call('list_activity')).text + JSON.stringify({ ...input, fetch: null })
      return 'Read.'
    })
    expect(found.match(/the-expected-words|the-rule/)).toBeNull()
    expect(found.includes('"task":"Do it."')).toBe(true)
  })
})
