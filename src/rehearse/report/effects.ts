import { html } from 'hono/html'
import type { Html } from '../../display/html.ts'
import type { Effect, Trial } from '../results.ts'
import { stepAnchor } from './anchors.ts'
import { line } from './foreign-texts.ts'
import { countWithNoun } from './words.ts'

const causes = { agent: 'By the agent', person: 'By a person', time: 'Over time', shop: 'By a shop' } as const

/**
 * Renders a collapsed list of the changes in the sandbox. If a change counts against the trial, it also appears among
 * the trial's verdicts.
 */
export function effectList(id: string, trial: Trial): Html {
  const { effects, lacks = [] } = trial
  if (lacks.includes('effects')) {
    return html`<p class="aside">An older version of payments-mcp wrote these results. It did not record changes.</p>`
  }
  if (effects.length === 0) return html`<p class="aside">Nothing changed in the sandbox.</p>`
  const byAgent = effects.filter(({ by }) => by === 'agent').length
  const left = effects.length - maxShown
  return html`<details class="fold"><summary>What changed: ${countWithNoun(effects.length, 'effect')}, ${byAgent.toLocaleString('en-US')} by the agent</summary>
<ol class="list">${effects.slice(0, maxShown).map((effect) => item(id, trial, effect))}</ol>${left > 0 ? html`<p class="aside">${countWithNoun(left, 'more effect')}: see results.json.</p>` : ''}</details>`
}

/** The maximum number of effects shown. `results.json` has all effects. */
const maxShown = 200

function item(id: string, trial: Trial, { by, change, says, step, weight }: Effect): Html {
  const kind = weight === 'clutter' && change === 'added' ? html` <span class="aside">harmless</span>` : ''
  return html`<li><span class="kind">${causes[by]}</span> ${line(says, 200)}${kind} ${stepLink(id, trial, step)}</li>`
}

/** Renders a link to a step. Returns an empty string if the trial has no such step. */
export function stepLink(id: string, trial: Trial, step: number | null | undefined): Html | string {
  if (step === null || step === undefined || trial.timeline[step - 1] === undefined) return ''
  return html`<a href="#${stepAnchor(id, trial, step)}">Step ${step}</a>`
}
