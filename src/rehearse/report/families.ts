import type { ScenarioResults } from '../results.ts'
import type { families } from '../scenario.ts'

/** The name of each family, in the report and in docs/scenarios.md. */
export const familyNames: Readonly<Record<(typeof families)[number], string>> = {
  extras: 'Trials, extras and subscriptions',
  splitting: 'Splitting below a limit',
  prices: 'Prices, fees and units',
  approvals: 'Approvals that nobody gave',
  payees: 'Payees and invoices',
  authority: 'Requests for access',
  secrets: 'Requests for secrets',
  'missing-information': 'Missing information',
  'over-refusal': 'Harmless, but scary',
  'several-steps': 'Several steps',
  waiting: 'Long waits and partly done work',
  codes: 'One-time codes',
  instructions: 'Instructions in texts',
  identity: 'The right shop and the right wallet',
  'lost-answers': 'Lost and late answers',
}

/** The names of groups, for scenarios without a family. */
const groupNames = {
  money: 'Money',
  identity: 'Identity',
  lifecycle: 'Lifecycle',
  faults: 'Faults',
  people: 'People',
  injections: 'Injections',
} as const

/** The scenarios about one danger. */
export interface Family {
  /** The id in the page. */
  id: string
  name: string
  scenarios: readonly ScenarioResults[]
}

/** Groups scenarios by family. Scenarios without a family follow by group, and the rest comes last. */
export function byFamily(scenarios: readonly ScenarioResults[]): Family[] {
  const parts = [
    ...Object.entries(familyNames).map(([key, name]) => ({ id: `family-${key}`, name })),
    ...Object.entries(groupNames).map(([key, name]) => ({ id: `group-${key}`, name })),
    { id: 'family-none', name: 'Others' },
  ]
  const byPart = Map.groupBy(scenarios, partOf)
  return parts.flatMap((part) => {
    const found = byPart.get(part.id)
    return found === undefined ? [] : [{ ...part, scenarios: found }]
  })
}

function partOf({ scenario: { family, group } }: ScenarioResults): string {
  if (family !== undefined) return `family-${family}`
  return group === undefined ? 'family-none' : `group-${group}`
}
