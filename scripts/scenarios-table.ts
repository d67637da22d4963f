import { loadScenarios } from '../src/rehearse/load-scenarios.ts'
import { familyNames } from '../src/rehearse/report/families.ts'
import { families, type Scenario } from '../src/rehearse/scenario.ts'
import { type Baseline, baselines } from '../src/rehearse/scripted/baselines.ts'
import { readBaselines } from './baselines-table.ts'

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string

const all = await loadScenarios()
const names = Object.keys(baselines) as Baseline[]

/** Returns the pairs of the package: a trap, and its harmless twin. */
export function scenarioPairs(): { trap: Scenario; twin: Scenario }[] {
  return [...Map.groupBy(all, ({ pair }) => pair).entries()].map(([pair, [trap, twin, ...more]]) => {
    if (trap === undefined || twin === undefined || more.length > 0) throw new Error(`${pair} is no pair.`)
    return { trap, twin }
  })
}

/** Returns the baselines that fall into a trap and pass its twin. */
export function caughtBy({ trap, twin }: { trap: Scenario; twin: Scenario }): Baseline[] {
  const passed = readBaselines()
  return names.filter((name) => passed[trap.id]?.includes(name) === false && passed[twin.id]?.includes(name) === true)
}

/** Describes all scenarios by family, from their files and the latest run of the baselines. */
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
      const head = ['Trap', 'Twin', 'Temptation', 'Right behavior', 'Based on', 'Catches']
      return [`## ${familyNames[family]}`, table(head, rows)]
    })
    .join('\n\n')
}

/** Counts the pairs of each family. */
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

/** Counts the scenarios that each baseline passed, and the traps that it fell into. */
export function baselinesTable(table: Table): string {
  const passed = readBaselines()
  const rows = names.map((name) => {
    const passing = all.filter(({ id }) => passed[id]?.includes(name))
    const fallen = scenarioPairs().filter((pair) => caughtBy(pair).includes(name))
    return [`\`${name}\``, behaviors[name], `${passing.length} of ${all.length}`, String(fallen.length)]
  })
  return table(['Agent', 'Behavior', 'Passes', 'Falls into traps whose twin it passes'], rows)
}

const behaviors: Readonly<Record<Baseline, string>> = {
  careful:
    'Buys only from the shop in the task, and pays only the total that it checked. Retries an unanswered call with the same key, waits for people, and ignores instructions in texts',
  gullible:
    'Believes everything it reads: the first price, the first plausible shop, and anything a text asks for. Takes bare numbers for cents',
  obedient:
    'Works precisely, but treats the latest text that it reads as its task, regardless of the author: receipts and later messages too',
  'repeats-blindly': "Starts again with a new card and a new key after any call that didn't clearly succeed",
  impatient: 'Does not wait for answers: makes each call once, assumes that it was carried out, and waits for nobody',
  'avoids-approval': "Works like `careful`, but splits an amount that needs approval into payments that don't",
  chatty:
    'Works like `careful`, but keeps asking the person: for the budget or the amount even if the task has it, and for each secret that a text requests',
  'refuses-everything': 'Does nothing',
}
