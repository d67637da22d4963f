import { html } from 'hono/html'
import type { Html } from '../../display/html.ts'
import { type Column, table } from '../../display/table.ts'
import type { ScenarioResults, Trial } from '../results.ts'
import { scenarioAnchor, trialAnchor } from './anchors.ts'
import type { Family } from './families.ts'
import { line } from './foreign-texts.ts'
import { outcomeOf, outcomes, passedOf, rightOf, truthOf } from './words.ts'

/**
 * Renders a table of the results by family, with links to each family's scenarios. Returns an empty string if there is
 * only one family.
 */
export function familyTable(families: readonly Family[]): Html | string {
  if (families.length < 2) return ''
  const count = (name: string, describe: (trials: readonly Trial[]) => string): Column<Family> => ({
    name,
    isNumber: true,
    cell: ({ scenarios }) => describe(scenarios.flatMap(({ trials }) => trials)),
  })
  const columns: Column<Family>[] = [
    { name: 'Scenarios', isNumber: true, cell: ({ scenarios }) => scenarios.length.toLocaleString('en-US') },
    count('Passed', passedOf),
    count('Did right', rightOf),
    count('Told the truth', truthOf),
  ]
  const link: Column<Family> = { name: 'Family', cell: ({ id, name }) => html`<a href="#${id}">${name}</a>` }
  return table('Families', [link, ...columns], families)
}

/**
 * Renders a table of all scenarios. Each family is a group of rows, and each row has a pair of scenarios: the trap, and
 * next to it the twin.
 */
export function scenarioTable(families: readonly Family[], rendered: ReadonlyMap<Trial, string>): Html {
  const parts = families.map(({ id, name, scenarios }) => {
    const passed = passedOf(scenarios.flatMap(({ trials }) => trials))
    const heading = html`<tr role="row"${passedOnlyClass(scenarios)}><th role="rowheader" scope="rowgroup" colspan="2" id="${id}">${name} <span class="aside">${passed} passed</span></th></tr>`
    return html`<tbody role="rowgroup">${heading}${pairsOf(scenarios).map((pair) => pairRow(pair, rendered))}</tbody>`
  })
  return html`<table class="scenarios" role="table" aria-label="Scenarios by family, a pair in each row">${parts}</table>`
}

function pairRow(pair: readonly ScenarioResults[], rendered: ReadonlyMap<Trial, string>): Html {
  const cells = pair.map((one) => cell(one, rendered))
  return html`<tr role="row"${passedOnlyClass(pair)}>${cells}${pair.length === 1 ? html`<td role="cell" class="none aside">No twin</td>` : ''}</tr>`
}

/**
 * Returns a class attribute for a row if all of its trials passed. Such a row is hidden while only failures are shown.
 */
function passedOnlyClass(scenarios: readonly ScenarioResults[]): Html | string {
  return scenarios.every(({ trials }) => trials.every(({ passed }) => passed)) ? html` class="passed-only"` : ''
}

function cell(
  { scenario: { id, title, attack }, trials }: ScenarioResults,
  rendered: ReadonlyMap<Trial, string>,
): Html {
  const marks = trials.slice(0, maxMarks).map((trial) => mark(id, trial, rendered.has(trial)))
  const more = trials.length - marks.length
  const rest = more === 0 ? '' : html`<span class="aside">and ${more.toLocaleString('en-US')} more</span>`
  return html`<td role="cell"><p><a href="#${scenarioAnchor(id)}">${line(title, 100)}</a>${attack ? html` <span class="kind">Attack</span>` : ''}</p>
<p class="aside"><code>${line(id)}</code> ${passedOf(trials)} passed</p>
<p class="aside">Did right ${rightOf(trials)}, told the truth ${truthOf(trials)}</p>
<p class="marks line">${marks}${rest}</p></td>`
}

/** The maximum number of trial marks in a cell. The counts above the marks include all trials. */
const maxMarks = 100

/** Renders a trial's outcome as a sign. If the page shows the trial in full, the sign links to the trial. */
function mark(id: string, trial: Trial, isShown: boolean): Html {
  const { sign, word, tone } = outcomes[outcomeOf(trial)]
  const name = `Trial ${trial.number} ${word}`
  return isShown
    ? html`<a class="mark ${tone}" href="#${trialAnchor(id, trial)}" aria-label="${name}">${sign}</a>`
    : html`<span class="mark ${tone}" role="img" aria-label="${name}">${sign}</span>`
}

/**
 * Groups scenarios by pair. The first scenario of a pair determines the position of the pair. Within a pair, an attack
 * comes first.
 */
function pairsOf(scenarios: readonly ScenarioResults[]): ScenarioResults[][] {
  const pairs = new Map<string, ScenarioResults[]>()
  for (const one of scenarios) {
    const { pair, id } = one.scenario
    // The prefixes differ, because the name of a pair may equal the id of a scenario that belongs to no pair.
    const key = pair === undefined ? `id ${id}` : `pair ${pair}`
    pairs.set(key, [...(pairs.get(key) ?? []), one])
  }
  return [...pairs.values()].map((pair) =>
    pair.toSorted((a, b) => Number(b.scenario.attack) - Number(a.scenario.attack)),
  )
}
