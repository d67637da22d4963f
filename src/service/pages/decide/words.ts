import { foreignName } from '../../../core/foreign-text.ts'
import type { Limits, Spent } from '../../rules/limits.ts'
import { applicationWords } from '../frame/application-words.ts'
import type { ContextFact } from '../frame/decision-facts.ts'
import { hostWords } from '../frame/decision-words.ts'
import { dollars } from '../frame/texts.ts'
import type { Asker, DecisionReview, ShownCap } from './review.ts'

/** Returns the payee, the caller, the caller's host and the remaining limits as plain text, not HTML. */
export function contextFactsOf({ asker, payee, call, caps }: DecisionReview): ContextFact[] {
  const host = hostWords(call.host)
  return [
    ...(payee === null ? [] : [{ label: 'Recipient', text: foreignName(payee, 'somebody without a name') }]),
    { label: 'Requested by', text: askerWords(asker) },
    ...(host === null ? [] : [{ label: 'Program (name not verified)', text: host }]),
    ...caps.map(capWords),
  ]
}

function askerWords({ agent, application, key }: Asker): string {
  const who = agent === null ? null : `The agent ${foreignName(agent, 'without a name')}`
  if (application !== null) {
    const { name, host } = applicationWords(application)
    const through = `the application ${name}${host === null ? '' : ` from ${host}`}, which you connected`
    return who === null ? capital(through) : `${who}, through ${through}`
  }
  return who ?? (key === null ? 'An API key of your account' : `The API key ${foreignName(key, 'without a name')}`)
}

function capWords({ owner, limits, spent }: ShownCap): ContextFact {
  const text = [
    paymentLimitText(limits.perTransaction),
    remainingText('today', limits.perDay, spent.dayCents),
    remainingText('this month', limits.perMonth, spent.monthCents),
  ].filter((words) => words !== null)
  return { label: labels[owner], text: text.length === 0 ? 'No limit' : `${text.join('; ')} (days and months in UTC)` }
}

const labels = {
  agent: 'Remaining agent limits',
  account: 'Remaining account limits',
  grant: 'Remaining limits of the customer’s grant',
} as const

type Limit = Limits['perDay']

const paymentLimitText = (cents: Limit) => (cents == null ? null : `${dollars(cents)} per payment`)

function remainingText(when: string, limit: Limit, spentCents: Spent['dayCents']): string | null {
  return limit == null ? null : `${dollars(Math.max(0, limit - spentCents))} of ${dollars(limit)} ${when}`
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
