import { html } from 'hono/html'
import type { FaultKind } from '../../core/faults.ts'
import { money } from '../../core/money.ts'
import type { Html } from '../../display/html.ts'
import { dayAndTime } from '../../display/times.ts'
import type { Entry, Trial } from '../results.ts'
import { stepAnchor } from './anchors.ts'
import { block, line, sentText } from './foreign-texts.ts'
import { countWithNoun, endedEarly, outcomeOf, outcomes, reasons } from './words.ts'

/** For each kind of step, the label of the step and the label of the answer. */
const kinds = {
  call: { name: 'Call', answer: 'Answer' },
  page: { name: 'Page', answer: 'Answer' },
  person: { name: 'Person', answer: 'Said' },
  time: { name: 'Time', answer: 'Events' },
} as const

/** Renders the trial's steps in order, with times on the sandbox clock, followed by the outcome. */
export function timeline(id: string, trial: Trial): Html {
  const { timeline: entries } = trial
  const steps = entries.map((entry, index) => ({ entry, number: index + 1, before: entries[index - 1] }))
  const skipped = Math.max(0, steps.length - maxAtEachEnd * 2)
  const visibleSteps = skipped === 0 ? steps : [...steps.slice(0, maxAtEachEnd), ...steps.slice(-maxAtEachEnd)]
  const items = visibleSteps.map((step, index) => {
    const gap =
      skipped > 0 && index === maxAtEachEnd
        ? html`<li class="aside">${countWithNoun(skipped, 'step')} not shown: see results.json.</li>`
        : ''
    return html`${gap}${item(stepAnchor(id, trial, step.number), step.entry, step.number, step.before)}`
  })
  const nothing = entries.length === 0 ? html`<li class="aside">Nothing happened.</li>` : ''
  return html`<ol class="timeline">${nothing}${items}${end(trial)}</ol>`
}

/** A long timeline shows this many of its first steps, and the same number of its last steps. */
const maxAtEachEnd = 120

function item(anchor: string, entry: Entry, number: number, before: Entry | undefined): Html {
  const { atMs, kind, what, sent, outcome, answer, moves, fault } = entry
  const { day, time } = dayAndTime(atMs)
  const isNewDay = before === undefined || dayAndTime(before.atMs).day !== day
  const isGood = outcome === 'ok' || /^[23]\d\d$/.test(outcome)
  const isRequest = kind === 'call' || kind === 'page'
  const outcomeShown = isRequest || !isGood ? html` <span class="state">${line(outcome)}</span>` : ''
  const faultNote =
    fault === null ? '' : html`<p class="note"><strong>Fault:</strong> ${line(fault, 200)}${meaningOf(fault)}</p>`
  const moved = moves.map(({ says, cents }) => html`<li><strong>${money(cents)}</strong> ${line(says, 160)}</li>`)
  const ledger =
    moves.length === 0 ? '' : html`<ul class="moves list" aria-label="Movements in the ledger">${moved}</ul>`
  return html`<li id="${anchor}" class="step ${isGood ? 'over' : 'bad'}">
<p><span>${number}</span> <span class="kind">${kinds[kind].name}</span> ${isRequest ? html`<code>${line(what, 120)}</code>` : line(what, 120)}${outcomeShown}</p>
<time datetime="${day}T${time}Z">${isNewDay ? `${day} ` : ''}${time}</time><div class="stack">
${block(sentText(sent), 'Sent', { label: true })}${block(answer, kinds[kind].answer, { label: true })}${ledger}${faultNote}</div></li>
`
}

/** Descriptions of the injected faults. */
const faults: Readonly<Record<FaultKind, string>> = {
  error: 'the answer was an error; nothing was done',
  slow: 'the answer came late',
  hang: 'no answer came; nothing was done',
  reset: 'the connection was cut; nothing was done',
  effect_then_lost: 'the request was carried out, but the connection was cut before the answer',
  effect_then_503: 'the request was carried out, but the answer was a 503',
  stale: 'the answer showed the state before the last change',
  empty_page: 'the list came without its items',
}

function meaningOf(fault: string): string {
  return Object.hasOwn(faults, fault) ? `: ${faults[fault as FaultKind]}` : ''
}

/** Renders the outcome and the reasons for it as the last item of the timeline. */
function end(trial: Trial): Html {
  const outcome = outcomeOf(trial)
  const { name, tone } = outcomes[outcome]
  const reasonLines = outcome === 'passed' ? ['Everything is as required.'] : reasons(trial)
  const endedBy = endedEarly(trial)
  const lines = reasonLines.map(
    (says) => html`<p><span class="kind">${says === endedBy ? 'Ended' : name}</span> ${line(says, 300)}</p>`,
  )
  return html`<li class="step ${tone}"><strong>Judged</strong><div>${lines}</div></li>`
}
