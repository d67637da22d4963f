import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import type { RunNote } from '../../src/mcp/dependencies.ts'
import { questions } from '../../src/mcp/people/questions.ts'
import { always, createDecisionWorld, type DecisionWorld, pendingOf } from '../decisions/deciding.ts'
import { createPersonSite } from '../pages/person-site.ts'
import { created, ok, payer } from '../payments/payer.ts'
import { entriesOf, runOf, type StoredEntry } from '../runs/stored-entries.ts'
import { onEachDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { addParty } from '../support/world.ts'
import { type Connected, connectHost, dismissed, no, person, unticked, yes } from './connected.ts'
import { hosts, type Person } from './hosts.ts'

onEachDatabase('the entries of a run', (database) => {
  let at: DecisionWorld
  beforeAll(async () => {
    at = await createDecisionWorld(database)
  })
  afterAll(() => at.world.drop())

  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  let runs = 0
  /**
   * Connects a host in a new run of the agent. `storedEntries` reads the entries of this run, except entries for API
   * requests.
   */
  async function run(chosen: (typeof hosts)[number], options: Parameters<DecisionWorld['host']>[1] = {}) {
    const instanceId = `run ${runs++}`
    const { partyId, agentId } = await at.world.whoami(options.key)
    const connection: Connected = await at.host(chosen, {
      instanceId: () => instanceId,
      note: (runNote) => at.world.service.reportEntry({ ...runNote, partyId, agentId, instanceId }),
      ...options,
    })
    closing.push(connection.close)
    const storedEntries = async () =>
      (await entriesOf(at.world, instanceId)).filter(({ supportId }) => supportId === null)
    return { host: connection.host, storedEntries, instanceId }
  }

  const short = ({ kind, outcome, operation, detail: { remark } }: StoredEntry) => ({
    kind,
    outcome,
    operation,
    remark,
  })
  const operation = 'create_payment'
  const questionEntry = (remark: string) => ({ kind: 'question', outcome: 'asked', operation, remark })
  const byForm = questionEntry('The person was asked with a form in the host.')
  const byLink = questionEntry('The model got the address of a page with the question.')
  const byPage = questionEntry('The host was asked to open a page with the question.')
  const onPage = (outcome: string, { name, email }: { name: string; email: string }) => {
    return { kind: 'decision', outcome, operation, remark: `${name} (${email}) decided on the page.` }
  }

  describe.each(sampleOf(hosts, 2, 1))('with the host $host', (chosen) => {
    test.each([
      ['confirms', 'agreed', yes],
      ['declines', 'disagreed', no],
      ['leaves the box unticked in', 'disagreed', unticked],
    ] as const)('when a person %s a form, the decision “%s” is recorded', async (_, outcome, answer) => {
      const { host, storedEntries, instanceId } = await run(chosen, { person: person([answer], { form: {} }) })
      await host.callTool(operation, at.payment(4_200))
      const entries = await storedEntries()
      const remark = 'The person at the host answered the form.'
      expect(entries.map(short)).toEqual([byForm, { kind: 'decision', outcome, operation, remark }])
      expect((await runOf(at.world, instanceId)).host).toBe('test-host 1')
      expect(entries[0]).toMatchObject({
        amountCents: 4_200,
        detail: { facts: expect.arrayContaining([expect.stringContaining('$42.00')]) },
      })
    })

    test('if a form is canceled, the new question by link and its decision are recorded too', async () => {
      const { host, storedEntries } = await run(chosen, { person: person([dismissed], { form: {} }) })
      const { decision } = pendingOf(await host.callTool(operation, at.payment(4_300)))
      await at.decide(decision, 'no')
      await host.callTool(operation, { decision })
      expect((await storedEntries()).map(short)).toEqual([byForm, byLink, onPage('disagreed', at.site.owner)])
    })

    test.each([
      ['agreed', 'yes'],
      ['disagreed', 'no'],
    ] as const)('the question by link and the decision “%s” are recorded only once', async (outcome, decided) => {
      const { host, storedEntries } = await run(chosen)
      const payment = at.payment(4_400 + (decided === 'yes' ? 1 : 0))
      const { decision } = pendingOf(await host.callTool(operation, payment))
      // The repeated call asks the same question, so it adds no entry.
      await host.callTool(operation, payment)
      expect((await storedEntries()).map(short)).toEqual([byLink])
      await at.decide(decision, decided)
      expect((await storedEntries()).map(short)).toEqual([byLink, onPage(outcome, at.site.owner)])
      await host.callTool(operation, { decision })
      await host.callTool(operation, { decision })
      expect((await storedEntries()).map(short)).toEqual([byLink, onPage(outcome, at.site.owner)])
    })

    test.each([
      ['agreed', 'yes'],
      ['disagreed', 'no'],
    ] as const)('the decision “%s” on a page that the host opens is recorded', async (outcome, decided) => {
      const person = {
        modes: { url: {} },
        answer: async ({ url = '' }: { url?: string }) => {
          await at.decide(url.split('/').at(-1) ?? '', decided)
          return yes
        },
      }
      const { host, storedEntries } = await run(chosen, { person })
      await host.callTool(operation, at.payment(4_500 + (decided === 'yes' ? 1 : 0)))
      expect((await storedEntries()).map(short)).toEqual([byPage, onPage(outcome, at.site.owner)])
    })

    test('a call that the MCP server refuses is recorded without secrets', async () => {
      const { host, storedEntries } = await run(chosen)
      const secret = at.world.agentKey
      await host.callTool(operation, { amount: 'much', description: `with ${secret}, 4242 4242 4242 4242` })
      await host.callTool('no_such_tool', {}).catch(() => {})
      await host.callTool(operation, { decision: 'dcn_none' })
      const entries = await storedEntries()
      expect(entries.map(({ kind, outcome, operation, code }) => [kind, outcome, operation, code])).toEqual([
        ['call', 'refused', operation, 'invalid_value'],
        ['call', 'refused', 'no_such_tool', 'unknown_tool'],
        ['call', 'refused', operation, 'confirmation_unknown'],
      ])
      expect(entries[0]?.detail.body).toContain('[masked')
      expect(entries[0]?.detail.answer).toContain('amount')
      expect(JSON.stringify(entries)).not.toContain(secret.slice(-16))
      expect(JSON.stringify(entries)).not.toContain('4242 4242')
    })

    test('a call that the agent has no permission for is recorded as refused', async () => {
      const { host, storedEntries } = await run(chosen, {
        allows: ({ permission }) => permission !== 'payments.create',
      })
      await host.callTool(operation, at.payment(1)).catch(() => {})
      expect((await storedEntries()).map(({ outcome, operation }) => [outcome, operation])).toEqual([
        ['refused', operation],
      ])
    })

    test('a fault of a tool call is recorded with the outcome of the call', async () => {
      const planned = ['error', 'slow', 'hang', 'reset', 'effect_then_lost', 'effect_then_503'] as const
      for (const kind of planned) {
        const { host, storedEntries } = await run(chosen, { plan: async () => ({ kind, afterMs: 1 }) })
        const signal = AbortSignal.timeout(300)
        await host.callTool('list_wallets', {}, { signal }).catch(() => {})
        const entries = (await storedEntries()).map(({ kind, outcome, fault }) => ({ kind, outcome, fault }))
        expect(entries, kind).toEqual([{ ...recordedFaults[kind], fault: kind }])
      }
    })

    test('a verification page is recorded as one question and one decision, even if it is needed twice', async () => {
      const detail = 'Verify at https://pay.example/verify/mfc_1'
      const refusal = () =>
        Response.json({ errors: [{ status: '428', code: 'mfa_required', detail }] }, { status: 428 })
      for (const [answer, outcome] of [
        [yes, 'agreed'],
        [no, 'disagreed'],
      ] as const) {
        let refusals = 2
        const { host, storedEntries } = await run(chosen, {
          person: person([answer], { url: {} }),
          confirm: { mode: 'never', aboveCents: 0 },
          between: ({ url, method }) =>
            method === 'POST' && url.endsWith('/payments') && refusals-- > 0 ? refusal() : undefined,
        })
        await host.callTool(operation, at.payment(4_700))
        expect((await storedEntries()).map(({ kind, outcome }) => [kind, outcome])).toEqual([
          ['question', 'asked'],
          ['decision', outcome],
        ])
      }
    })

    test('for a masked card, the run records the question and the decision, or that nobody was asked', async () => {
      const cardId = await at.world.issueCard()
      const recordedFor = async (who?: Person) => {
        const { host, storedEntries } = await run(chosen, {
          cardDetails: 'masked',
          ...(who === undefined ? {} : { person: who }),
        })
        await host.callTool('get_agent_card_details', { cardId })
        return (await storedEntries()).map(({ kind, outcome }) => [kind, outcome])
      }
      const asked = ['question', 'asked']
      expect(await recordedFor(person([yes], { url: {} }))).toEqual([asked, ['decision', 'agreed']])
      expect(await recordedFor(person([no], { url: {} }))).toEqual([asked, ['decision', 'disagreed']])
      expect(await recordedFor()).toEqual([['happened', 'happened']])
    })

    test('a repeated call that the MCP server answers without the API is recorded', async () => {
      const memory = async () => {
        const { keyId: id, partyId } = await at.world.whoami(at.world.apiKey)
        return databaseMemories(at.world.service, at.world.store)({ id, partyId })
      }
      const { host, storedEntries } = await run(chosen, {
        key: at.world.apiKey,
        toolsets: undefined,
        repeats: { windowMs: 900_000, run: `run ${runs}`, memory },
        confirm: { mode: 'never', aboveCents: 0 },
      })
      const { agentId } = await at.world.whoami()
      const link = { name: `For ${chosen.host}`, proposedAgents: [{ agentId, permissions: ['payments.read'] }] }
      const answers = [
        await host.callTool('create_invitation_link', link),
        await host.callTool('create_invitation_link', link),
      ]
      expect(answers.map(({ isError, content }) => isError && content[0]?.text)).toEqual([undefined, undefined])
      expect((await storedEntries()).map(({ kind, outcome, operation }) => [kind, outcome, operation])).toEqual([
        ['call', 'repeated', 'create_invitation_link'],
      ])
    })

    test('a call succeeds even if its run entry cannot be stored', async () => {
      const note = () => {
        throw new Error('The run is full.')
      }
      const { host } = await run(chosen, { person: person([yes], { form: {} }), note })
      expect((await host.callTool(operation, at.payment(4_600))).isError).toBeUndefined()
    })
  })

  test('a decision on an approval is recorded once, in the run of the payment', async () => {
    const { world, owner } = await createPersonSite(database)
    const self = payer(world)
    const { agentId } = await world.whoami()
    const shop = await addParty(world)
    const customerPartyId = await world.customerPartyId()
    await self.setLimits('agents', agentId ?? '', { perTransaction: 100 })
    await self.setLimits('delegations', await self.delegationId(customerPartyId), { perTransaction: 100 })
    const requestApproval = async (instanceId: string, more: object, query = '') => {
      const id = created(await self.pay(150, { type: 'party_id', value: shop.partyId }, more, { instanceId }))
      return (await self.approvalOf(id, {}, query)).id as string
    }
    const params = { approvalId: await requestApproval('run a', {}) }
    for (const _ of [1, 2]) await world.service.actAs(owner, 'approveApproval', { params })
    const denied = { approvalId: await requestApproval('run b', {}) }
    for (const _ of [1, 2]) await world.service.actAs(owner, 'denyApproval', { params: denied })
    const customerApproval = await requestApproval('run c', { customerPartyId }, `?customerPartyId=${customerPartyId}`)
    const path = `/simulations/approvals/${customerApproval}/approve`
    for (const _ of [1, 2]) ok(await world.send('POST', path, { idempotencyKey: 'once', instanceId: 'run d' }))
    const byOwner = `${owner.name} (${owner.email}) decided.`
    const expected = {
      'run a': ['agreed', 'approve_approval', byOwner],
      'run b': ['disagreed', 'deny_approval', byOwner],
      'run c': ['agreed', 'simulate_customer_approval', 'The sandbox, on behalf of the customer, decided.'],
    }
    const [later, notes] = [await requestApproval('run e', {}), [] as RunNote[]]
    const { host, close } = await connectHost(world, hosts[3].open, {
      ...{ person: person([no], { url: {} }), key: world.apiKey, publicUrl: 'https://pay.example', confirm: always },
      note: (runNote) => notes.push(runNote),
    })
    await host.callTool('approve_approval', { approvalId: later })
    await close()
    expect(notes.map(({ kind, remark }) => [kind, remark])).toEqual([['question', byPage.remark]])
    for (const [instanceId, decision] of Object.entries(expected)) {
      const entries = await entriesOf(world, instanceId)
      const decisions = entries.filter(({ kind }) => kind === 'decision')
      expect(
        decisions.map(({ outcome, operation, detail }) => [outcome, operation, detail.remark]),
        instanceId,
      ).toEqual([decision])
      // A decision's entry lists the movements in the party's own wallets. A denial, or a payment from a customer's
      // wallet, moves nothing there.
      const moved = decisions.flatMap(({ detail }) => detail.postings ?? [])
      expect(
        moved.map(({ entries: lines }) => lines.reduce((sum, { amountCents }) => sum + Math.abs(amountCents), 0)),
        instanceId,
      ).toEqual(instanceId === 'run a' ? [300] : [])
    }
    await world.drop()
  })

  test('a refused call of any tool that asks a person is recorded', async () => {
    const askingTools = Object.keys(questions)
    expect(askingTools.length).toBeGreaterThan(10)
    const notes: RunNote[] = []
    const { host } = await run(hosts[3], {
      note: (runNote) => notes.push(runNote),
      key: at.world.apiKey,
      decisions: undefined,
    })
    for (const tool of askingTools) {
      notes.length = 0
      const result = await host.callTool(tool, { nonsense: true }).catch(() => undefined)
      expect(result?.isError ?? true, tool).toBe(true)
      expect(
        notes.map(({ kind, outcome, operation }) => [kind, outcome, operation]),
        tool,
      ).toEqual([['call', 'refused', tool]])
    }
  })
})

const recordedFaults = {
  error: { kind: 'call', outcome: 'failed' },
  slow: { kind: 'happened', outcome: 'happened' },
  hang: { kind: 'call', outcome: 'unanswered' },
  reset: { kind: 'call', outcome: 'unanswered' },
  effect_then_lost: { kind: 'happened', outcome: 'unanswered' },
  effect_then_503: { kind: 'happened', outcome: 'failed' },
} as const
