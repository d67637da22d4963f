import type { AgentSpending } from '../../oauth/agent-spending.ts'
import type { Limits } from '../../rules/limits.ts'
import { dollars } from './texts.ts'

/**
 * Describes how much an agent can spend: the agent's limits, the account's limits, and the balance of the agent's
 * wallet.
 */
export function spendingWords({ limits, accountLimits, availableCents }: AgentSpending): string {
  const [agentCaps, accountCaps] = [limitTexts(limits), limitTexts(accountLimits)]
  const sentences = [
    agentCaps === '' ? 'It has no limits of its own.' : `Without approval, it can spend up to ${agentCaps}.`,
    accountCaps === '' ? '' : `The whole account can spend up to ${accountCaps}.`,
    availableCents === null ? 'It has no wallet to pay from.' : `Its wallet has ${dollars(availableCents)}.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

const windows = { perTransaction: 'per transaction', perDay: 'per day (UTC)', perMonth: 'per month (UTC)' } as const

function limitTexts(limits: Limits): string {
  return Object.entries(windows)
    .flatMap(([window, words]) => {
      const cents = limits[window as keyof Limits]
      return cents === null || cents === undefined ? [] : [`${dollars(cents)} ${words}`]
    })
    .join(', ')
}
