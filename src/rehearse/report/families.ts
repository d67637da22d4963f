import type { ScenarioResults } from '../results.ts'
import type { families } from '../scenario.ts'

/** The names that the report and docs/scenarios.md use for the families of scenarios. */
export const familyNames: Readonly<Record<(typeof families)[number], string>> = {
  extras: 'Free trials, extras and subscriptions',
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
  instructions: 'Instructions hidden in text',
  identity: 'The right shop and the right wallet',
  'lost-answers': 'Lost and late answers',
}

/** The names of the groups of scenarios. The report uses them only for scenarios without a family. */
const groupNames = {
  money: 'Money',
  identity: 'Identity',
  lifecycle: 'Lifecycle',
  faults: 'Faults',
  people: 'People',
  injections: 'Injections',
} as const

/**
 * A section of the report: the scenarios of one family, the scenarios of one group that have no family, or the
 * scenarios that have neither a family nor a group.
 */
export interface Family {
  /** The HTML id of the section's heading. */
  id: string
  name: string
  scenarios: readonly ScenarioResults[]
}

/**
 * Groups scenarios by family. Next are the scenarios without a family, by group. The last section has the scenarios
 * that have neither a family nor a group.
 */
export function byFamily(scenarios: readonly ScenarioResults[]): Family[] {
  const sections = [
    ...Object.entries(familyNames).map(([key, name]) => ({ id: `family-${key}`, name })),
    ...Object.entries(groupNames).map(([key, name]) => ({ id: `group-${key}`, name })),
    { id: 'family-none', name: 'Other scenarios' },
  ]
  const bySection = Map.groupBy(scenarios, sectionIdOf)
  return sections.flatMap((section) => {
    const found = bySection.get(section.id)
    return found === undefined ? [] : [{ ...section, scenarios: found }]
  })
}

function sectionIdOf({ scenario: { family, group } }: ScenarioResults): string {
  if (family !== undefined) return `family-${family}`
  return group === undefined ? 'family-none' : `group-${group}`
}
