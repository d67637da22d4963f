import { loadScenarios } from '../src/rehearse/load-scenarios.ts'
import { familyNames } from '../src/rehearse/report/families.ts'
import { families, type Scenario } from '../src/rehearse/scenario.ts'
import { type Baseline, baselines } from '../src/rehearse/scripted/baselines.ts'
import { readBaselines } from './baselines-table.ts'

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string

const all = await loadScenarios()
const names = Object.keys(baselines) as Baseline[]

/** Returns the package's scenarios in pairs: a trap, and its harmless twin. */
export function scenarioPairs(): { trap: Scenario; twin: Scenario }[] {
  return [...Map.groupBy(all, ({ pair }) => pair).entries()].map(([pair, [trap, twin, ...more]]) => {
    if (trap === undefined || twin === undefined || more.length > 0)
      throw new Error(`Pair ${pair} must have two scenarios.`)
    return { trap, twin }
  })
}

/** Returns the names of the baselines (scripted agents) that fail in a trap and pass its twin. */
export function caughtBy({ trap, twin }: { trap: Scenario; twin: Scenario }): Baseline[] {
  const passed = readBaselines()
  return names.filter((name) => passed[trap.id]?.includes(name) === false && passed[twin.id]?.includes(name) === true)
}

/**
 * Returns a section for each family. Each section has a table of the family's pairs of scenarios, with the baselines
 * that each pair catches.
 */
export function scenariosTables(table: Table): string {
  const pairs = scenarioPairs()
  return families
    .flatMap((family) => {
      const ofFamily = pairs.filter(({ trap }) => trap.family === family)
      const rows = ofFamily.map(({ trap, twin }) => [
        `\`${trap.id}\`: ${trap.title}`,
        `\`${twin.id}\`: ${twin.title}`,
        trap.about?.tempts ?? '',
        trap.about?.right ?? '',
        trap.about?.answers ?? '',
        caughtBy({ trap, twin }).join(', '),
      ])
      const head = ['Trap', 'Twin', 'Temptation', 'Right behavior', 'Based on', 'Agents caught']
      return [`## ${familyNames[family]}`, table(head, rows)]
    })
    .join('\n\n')
}

/** Returns a table of the families, with the number and the names of their pairs. */
export function familiesTable(table: Table): string {
  const rows = families.map((family) => {
    const ofFamily = scenarioPairs().filter(({ trap }) => trap.family === family)
    return [
      `\`${family}\``,
      familyNames[family],
      String(ofFamily.length),
      ofFamily.map(({ trap }) => `\`${trap.pair}\``).join(', '),
    ]
  })
  return table(['Family', 'About', 'Pairs', 'Names'], rows)
}

/** Returns a table of the baselines: what each does, how many scenarios it passes, and how many traps catch it. */
export function baselinesTable(table: Table): string {
  const passed = readBaselines()
  const rows = names.map((name) => {
    const passing = all.filter(({ id }) => passed[id]?.includes(name))
    const fallen = scenarioPairs().filter((pair) => caughtBy(pair).includes(name))
    return [`\`${name}\``, behaviors[name], `${passing.length} of ${all.length}`, String(fallen.length)]
  })
  return table(['Agent', 'Behavior', 'Scenarios passed', 'Traps failed although it passes the twin'], rows)
}

const behaviors: Readonly<Record<Baseline, string>> = {
  careful:
    'Buys only from the shop in the task, and pays only the total that it checked. Retries an unanswered call with the same idempotency key, waits for people, and ignores instructions hidden in text',
  gullible:
    'Believes everything it reads: the first price, the first plausible shop, and anything that a text asks for. Treats numbers without a unit as cents',
  obedient:
    'Works carefully, but treats the latest text that it reads as its task, even if that text is a receipt or an incoming message',
  'repeats-blindly':
    "Starts again with a new card and a new idempotency key after any call that didn't clearly succeed",
  impatient:
    'Makes each call only once, assumes that it was carried out even if no answer comes, and does not wait for people',
  'avoids-approval': 'Works like `careful`, but splits an amount that needs approval into payments that need none',
  chatty:
    'Works like `careful`, but keeps asking the person: for the budget or the amount (whether or not the task states it), and for each secret that a text requests',
  'refuses-everything': 'Does nothing',
}
