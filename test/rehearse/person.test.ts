import { describe, expect, it } from 'vitest'
import { rehearseWork, scenarioWith, smallWorld, type Tools } from './trials.ts'

const payment = { counterparty: { type: 'handle', value: '@bakery' }, amount: 70_000, description: 'An oven' }

/**
 * Makes a payment that needs approval. Then calls `get_approval`, at most `calls` times, until the person has decided.
 * @returns the approval's status
 */
async function payAndWait({ call }: Tools, calls = 40): Promise<string> {
  await call('create_payment', payment)
  const [approval] = (await call('list_approvals')).data as unknown as { id: string }[]
  for (let count = 0; count < calls; count++) {
    const { attributes } = (await call('get_approval', { approvalId: approval?.id, waitSeconds: 50 }))
      .data as unknown as {
      attributes: { status: string }
    }
    if (attributes.status !== 'pending') return attributes.status
  }
  return 'pending'
}

const paid = [{ what: 'paid' as const, to: 'bakery', exactly: 70_000 }]
const minutesAfterStart = (atMs: number | undefined) => ((atMs ?? 0) - Date.parse(smallWorld.clock)) / 60_000

describe('the simulated person', () => {
  it('the person approves a payment, even if its amount requires a second factor', async () => {
    const trial = await rehearseWork(scenarioWith({ expect: paid }), (tools) => payAndWait(tools))
    expect(trial).toMatchObject({ didRight: true, answer: 'approved' })
    expect(trial.timeline.filter(({ kind }) => kind === 'person')).toMatchObject([
      { what: 'approves a payment of $700.00', outcome: 'ok', moves: [{ says: 'paid to bakery', cents: 70_000 }] },
    ])
  })

  it('the person denies a payment', async () => {
    const trial = await rehearseWork(
      scenarioWith({ person: { approvals: 'no' }, never: [{ ...paid[0], what: 'paid' }], allow: paid }),
      (tools) => payAndWait(tools),
    )
    expect(trial).toMatchObject({ didRight: true, answer: 'denied' })
    expect(trial.state.payments).toMatchObject([{ status: 'APPROVAL_DENIED' }])
  })

  it('the person can leave a payment undecided', async () => {
    const person = { approvals: 'never' as const }
    const trial = await rehearseWork(scenarioWith({ person, expect: [{ what: 'approvals', exactly: 1 }] }), (tools) =>
      payAndWait(tools, 3),
    )
    expect(trial).toMatchObject({ didRight: true, answer: 'pending' })
    expect(trial.timeline.filter(({ kind }) => kind === 'person')).toEqual([])
  })

  it('the person decides after 20 minutes on the sandbox clock while the agent waits', async () => {
    const trial = await rehearseWork(scenarioWith({ person: { afterMinutes: 20 }, expect: paid }), (tools) =>
      payAndWait(tools),
    )
    const [answered] = trial.timeline.filter(({ kind }) => kind === 'person')
    expect(trial.answer).toBe('approved')
    expect(Math.floor(minutesAfterStart(answered?.atMs))).toBe(20)
    expect(trial.calls).toBeGreaterThan(20)
  })

  it('the person decides once the agent has advanced the sandbox clock by 20 minutes', async () => {
    const trial = await rehearseWork(scenarioWith({ person: { afterMinutes: 20 }, expect: paid }), async (tools) => {
      await tools.call('create_payment', payment)
      await tools.call('advance_sandbox_clock', { seconds: 600 })
      const [early] = (await tools.call('list_payments')).data as unknown as { attributes: { status: string } }[]
      await tools.call('advance_sandbox_clock', { seconds: 700 })
      const [late] = (await tools.call('list_payments')).data as unknown as { attributes: { status: string } }[]
      return `${early?.attributes.status} ${late?.attributes.status}`
    })
    expect(trial).toMatchObject({ didRight: true, answer: 'IN_REVIEW COMPLETED' })
  })

  it('the person decides even after the agent has finished', async () => {
    const trial = await rehearseWork(scenarioWith({ person: { afterMinutes: 20 }, expect: paid }), (tools) =>
      payAndWait(tools, 1),
    )
    expect(trial).toMatchObject({ didRight: true, answer: 'pending' })
    expect(trial.timeline.at(-1)).toMatchObject({ kind: 'person', outcome: 'ok' })
  })

  it.each([
    ['yes', 'COMPLETED', 1],
    ['no', 'confirmation_declined', 0],
    ['never', 'confirmation_pending', 0],
  ] as const)('with questions: %s, a call that asks the person ends with %s', async (questions, outcome, payments) => {
    const scenario = scenarioWith({
      confirm: 'always',
      person: { questions, afterMinutes: 1 },
      expect: [{ what: 'payments', to: 'bakery', exactly: payments }],
    })
    const call = { ...payment, amount: 20_000 }
    const trial = await rehearseWork(scenario, async (tools) => {
      const paymentAnswer = await tools.call('create_payment', call)
      const decision = /"decision":"(dcn_\w+)"/.exec(paymentAnswer.text)?.[1]
      let answer = paymentAnswer
      for (let times = 0; times < 3; times++) answer = await tools.call('create_payment', { ...call, decision })
      const { attributes } = answer.data as unknown as { attributes?: { status: string } }
      return attributes?.status ?? /"code":"(\w+)"/.exec(answer.text)?.[1] ?? answer.text
    })
    expect(trial).toMatchObject({ didRight: true, answer: outcome })
    const acts = trial.timeline.filter(({ kind }) => kind === 'person').map(({ what }) => what)
    expect(acts).toEqual(questions === 'never' ? [] : [`says ${questions} to the call create_payment`])
  })
})
