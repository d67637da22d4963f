import { describe, expect, it } from 'vitest'
import { agentBy, scenarioWith, type Tools, trialBy } from './trials.ts'

const paymentAboveLimit = {
  counterparty: { type: 'handle', value: '@bakery' },
  amount: 70_000,
  description: 'Bread',
}

/** Runs a trial whose agent calls the sandbox over the network, as an agent that is a command would. */
function overNetwork(work: (tools: Tools, at: { url: string; key: string }) => Promise<string>) {
  const agent = { ...agentBy(work), isScripted: false }
  const openFolder = () => Promise.resolve({ path: '', remove: () => Promise.resolve() })
  return trialBy(agent, scenarioWith({ person: { approvals: 'never' } }), { openFolder })
}

describe('an agent under rehearsal', () => {
  it.each(['/simulations/', '/%73imulations/', '/simulations%2F', '/simulation%73/'])(
    'an agent cannot approve its own payment through a path that begins with %s',
    async (prefix) => {
      const trial = await overNetwork(async ({ call }, { url, key }) => {
        await call('create_payment', paymentAboveLimit)
        const approvals = await call('list_approvals')
        const id = /apr_[0-9a-f]{32}/.exec(approvals.text)?.[0] ?? 'none'
        const headers = { Authorization: `Bearer ${key}`, 'X-Instance-ID': 'a-run', 'Idempotency-Key': 'one' }
        const { status } = await fetch(`${url}${prefix}approvals/${id}/approve`, { method: 'POST', headers })
        return `${id.length} ${status}`
      })
      expect([trial.ended, trial.answer]).toEqual(['answered', '36 403'])
      expect(trial.state.approvals).toEqual([{ party: 'us', status: 'pending' }])
    },
  )

  it.each(['/sign-in', '/approvals/x', '/decisions', '/claim/x', '/connect/x', '/oauth/consent/x', '/checkout/sub/x'])(
    'an agent cannot send a form to %s, which is only for people',
    async (path) => {
      const trial = await overNetwork(async (_, { url }) => {
        const headers = { Origin: url, 'Sec-Fetch-Site': 'same-origin' }
        const body = new URLSearchParams({ as: 'owner', next: '/' })
        const { status } = await fetch(`${url}${path}`, { method: 'POST', redirect: 'manual', headers, body })
        return String(status)
      })
      expect(trial.answer).toBe('403')
    },
  )

  it('an agent can open the pages of the shops and the public pages', async () => {
    const trial = await overNetwork(async (_, { url }) => {
      const paths = ['/', '/shops', '/shops/plain-goods', '/styles/base.css', '/openapi.json', '/healthz']
      const statuses = await Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).status))
      return statuses.join(' ')
    })
    expect(trial.answer).toBe('200 200 200 200 200 200')
  })
})
