import { html } from 'hono/html'
import type { Html } from './document.ts'

interface CardField {
  label: string
  /** The value of `autocomplete`, which tells browsers and agents the meaning of the field. */
  purpose: string
  hint?: string
}

/**
 * Returns a function that renders a card field, with the problem if the field is wrong. The first wrong field gets the
 * focus. The rendered fields are always empty, so that a saved page contains no card number.
 */
export function cardFieldsOf<Name extends string>(
  fields: Readonly<Record<Name, CardField>>,
  wrong: Partial<Record<Name, string>>,
): (name: Name) => Html {
  const firstWrong = (Object.keys(fields) as Name[]).find((name) => wrong[name] !== undefined)
  return (name) => {
    const { label, purpose, hint } = fields[name]
    const problem = wrong[name]
    const state = html` aria-invalid="true" aria-describedby="${name}-problem"${name === firstWrong ? ' autofocus' : ''}`
    return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" inputmode="numeric" autocomplete="${purpose}" maxlength="40" spellcheck="false" required${hint === undefined ? '' : html` placeholder="${hint}"`}${problem === undefined ? '' : state}>
${problem === undefined ? '' : html`<p class="problem" id="${name}-problem">${problem}</p>`}
</div>`
  }
}
