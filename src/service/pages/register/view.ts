import { html } from 'hono/html'
import { maxKeys } from '../../../../tools/applications.ts'
import { applicationScopes, oauthScopes } from '../../../core/permissions.ts'
import type { ClaimRule } from '../../rules/trusted-issuers.ts'
import type { Html, PageForm } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'
import { type Agent, type ApplicationEntry, maxRules, type Problems, type ProviderEntry } from './entries.ts'

interface FormPageState<Entry> extends PageForm {
  agents: readonly Agent[]
  entry: Entry
  problems: Problems<Entry>
  /** Whether the person has just added another rule. If so, the new rule's first field gets the focus. */
  isAdded?: boolean
}

/** Renders the form that registers an application. The page has no script: the browser itself sends the form. */
export function applicationPage({ agents, entry, problems, ...target }: FormPageState<ApplicationEntry>): Html {
  const focus = firstInvalid(problems, ['name', 'agentId', 'scopes', 'keys'])
  const main = html`<h1>Register an application</h1>
<p>Register a deployed service that signs in by itself as one of your agents, without a person. It spends within that agent’s limits.</p>
${agents.length === 0 ? noAgent : ''}
<form method="post" action="${target.action}" novalidate>
<input type="hidden" name="formToken" value="${target.token}">
${summary(problems)}
${textField({ name: 'name', label: 'Name', hint: 'What you call it, such as “Nightly orders”', value: entry.name, maxLength: 100, problem: problems.name, isFocused: focus === 'name' })}
<div class="field">
<label for="agent">Agent that the application acts as</label>
${agentSelect(agents, entry.agentId, html`id="agent" aria-describedby="agent-problem" ${problemAttributes(problems.agentId, focus === 'agentId')}`)}
<p class="problem" id="agent-problem">${problems.agentId ?? ''}</p>
</div>
${scopeFields('The application may', entry.scopes, problems.scopes, focus === 'scopes')}
<fieldset>
<legend>The application proves its identity with</legend>
<div class="list">
<div class="option box">
<input type="radio" id="proof-secret" name="proof" value="secret" aria-describedby="about-secret" ${entry.proof === 'secret' ? html`checked` : ''}>
<div><label for="proof-secret">A secret</label><p class="aside" id="about-secret">We create the secret and show it once.</p></div>
</div>
<div class="option box">
<input type="radio" id="proof-key" name="proof" value="key" aria-describedby="about-key" ${entry.proof === 'key' ? html`checked` : ''}>
<div>
<label for="proof-key">A key pair</label>
<p class="aside" id="about-key">The private key never leaves the application’s machine.</p>
<div class="field chosen-only">
<label for="keys">Public key</label>
<p class="aside" id="keys-hint">JSON: a JWK, or a JWKS with up to ${maxKeys} keys</p>
<textarea id="keys" name="keys" rows="5" spellcheck="false" autocomplete="off" aria-describedby="keys-hint keys-problem" ${problemAttributes(problems.keys, focus === 'keys')}>
${entry.keys}</textarea>
<p class="problem" id="keys-problem">${problems.keys ?? ''}</p>
</div>
</div>
</div>
</div>
</fieldset>
<div class="choices">
<button type="submit">Register</button>
</div>
</form>
${toConnections}`
  return formPage({ title: titleFor('Register an application', problems), main })
}

/** Renders the form that trusts an identity provider. */
export function providerPage(shown: FormPageState<ProviderEntry>): Html {
  const { agents, entry, problems, isAdded = false, ...target } = shown
  const focus = firstInvalid(problems, ['name', 'issuer', 'jwksUri', 'scopes', 'rules'])
  const { rules } = entry
  const marked = problems.rules === undefined ? [] : rules.flatMap(emptyFieldIds)
  const focused = isAdded ? `claim-${rules.length - 1}` : focus === 'rules' ? (marked[0] ?? 'claim-0') : undefined
  const main = html`<h1>Trust an identity provider</h1>
<p>Let your company’s identity provider decide which agent each person acts as, through one AI host.</p>
${agents.length === 0 ? noAgent : ''}
<form method="post" action="${target.action}" novalidate>
<input type="hidden" name="formToken" value="${target.token}">
${summary(problems)}
${textField({ name: 'name', label: 'Name of the AI host', hint: 'What you call the application that sends us the provider’s assertions', value: entry.name, maxLength: 100, problem: problems.name, isFocused: focus === 'name' })}
${textField({ name: 'issuer', label: 'Issuer', hint: 'The “iss” of the provider’s assertions, such as https://login.example.com', value: entry.issuer, maxLength: 500, problem: problems.issuer, isFocused: focus === 'issuer', isAddress: true })}
${textField({ name: 'jwksUri', label: 'Address of the provider’s public keys', hint: 'The provider’s “jwks_uri”, such as https://login.example.com/jwks', value: entry.jwksUri, maxLength: 500, problem: problems.jwksUri, isFocused: focus === 'jwksUri', isAddress: true })}
${scopeFields('The AI host may', entry.scopes, problems.scopes, focus === 'scopes')}
<fieldset aria-describedby="rules-hint rules-problem">
<legend>Who acts as which agent</legend>
<div class="field">
<p class="aside" id="rules-hint">The first rule that matches chooses the agent. If none matches, nobody is signed in. Use claims that only the provider can set.</p>
<p class="problem" id="rules-problem">${problems.rules ?? ''}</p>
</div>
<div class="list">
${rules.map((rule, at) => ruleFields(rule, { agents, at, mark: (id) => problemAttributes(marked.includes(id) ? problems.rules : undefined, id === focused) }))}
</div>
</fieldset>
<div class="choices">
<button type="submit" name="action" value="trust">Trust the provider</button>
${rules.length < maxRules ? html`<button type="submit" name="action" value="add" class="quiet">Add another rule</button>` : ''}
</div>
</form>
${toConnections}`
  return formPage({ title: titleFor('Trust an identity provider', problems), main })
}

const toConnections = html`<p><a href="/connections">Back to your connected applications</a></p>`

const noAgent = html`<p class="warning">You have no agent yet. Connect an AI host first: when you allow the connection, you create its agent.</p>`

function titleFor<Entry>(heading: string, problems: Problems<Entry>): string {
  return Object.keys(problems).length === 0 ? heading : `Error: ${heading}`
}

/**
 * Renders the message that nothing was changed, if there are problems. A problem with one field is shown next to that
 * field, not in this message.
 */
function summary<Entry>(problems: Problems<Entry>): Html | '' {
  if (Object.keys(problems).length === 0) return ''
  const text =
    'form' in problems ? `Nothing was changed. ${problems.form}` : 'Nothing was changed. Check the marked fields.'
  return html`<p class="problem" role="alert">${text}</p>`
}

/** Returns the first field that has a problem. @param order The fields, in the order in which the page shows them. */
function firstInvalid<Entry>(problems: Problems<Entry>, order: readonly (keyof Entry)[]): keyof Entry | undefined {
  return order.find((field) => problems[field] !== undefined)
}

const problemAttributes = (problem: string | undefined, isFocused: boolean) =>
  html`${problem === undefined ? '' : html`aria-invalid="true"`} ${isFocused ? html`autofocus` : ''}`

interface TextField {
  name: string
  label: string
  hint: string
  value: string
  maxLength: number
  problem: string | undefined
  isFocused: boolean
  isAddress?: boolean
}

function textField({ name, label, hint, value, maxLength, problem, isFocused, isAddress = false }: TextField): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
<p class="aside" id="${name}-hint">${hint}</p>
<input id="${name}" name="${name}" ${isAddress ? html`type="url" inputmode="url" spellcheck="false"` : ''} autocomplete="off" maxlength="${maxLength}" required value="${value}" aria-describedby="${name}-hint ${name}-problem" ${problemAttributes(problem, isFocused)}>
<p class="problem" id="${name}-problem">${problem ?? ''}</p>
</div>`
}

function agentSelect(agents: readonly Agent[], chosen: string, attributes: Html): Html {
  return html`<select name="agentId" required ${attributes}>
<option value="">Choose an agent</option>
${agents.map((agent) => html`<option value="${agent.id}" ${agent.id === chosen ? html`selected` : ''}>${agent.name}</option>`)}
</select>`
}

function scopeFields(legend: string, chosen: readonly string[], problem: string | undefined, isFocused: boolean) {
  return html`<fieldset ${problem === undefined ? '' : html`aria-describedby="scopes-problem"`}>
<legend>${legend}</legend>
${problem === undefined ? '' : html`<div class="field"><p class="problem" id="scopes-problem">${problem}</p></div>`}
${applicationScopes.map(
  (scope, at) => html`<div class="option">
<input type="checkbox" id="scope-${at}" name="scope" value="${scope}" ${chosen.includes(scope) ? html`checked` : ''} ${isFocused && at === 0 ? html`autofocus` : ''}>
<label for="scope-${at}">${oauthScopes[scope].words}</label>
</div>
`,
)}
</fieldset>`
}

/**
 * Returns the HTML ids of the rule's empty fields, which the person must fill in. If there are several rules, returns
 * no ids for a rule whose claim and value are both empty, because such a rule is ignored.
 */
function emptyFieldIds({ claim, value, agentId }: ClaimRule, at: number, rules: readonly ClaimRule[]): string[] {
  if (claim === '' && value === '' && rules.length > 1) return []
  const fields = Object.entries({ claim, value, agent: agentId })
  return fields.flatMap(([name, text]) => (text === '' ? [`${name}-${at}`] : []))
}

interface RuleState {
  agents: readonly Agent[]
  at: number
  /** Returns HTML attributes for the field with this id: one if the field is invalid, and one if it gets the focus. */
  mark(id: string): Html
}

function ruleFields({ claim, value, agentId }: ClaimRule, { agents, at, mark }: RuleState): Html {
  return html`<fieldset class="box">
<legend class="unseen">Rule ${at + 1}</legend>
<div class="row">
${ruleField('claim', 'Claim', { at, text: claim, maxLength: 100, mark })}
${ruleField('value', 'Value', { at, text: value, maxLength: 200, mark })}
</div>
<div class="field">
<label for="agent-${at}">Agent</label>
${agentSelect(agents, agentId, html`id="agent-${at}" ${mark(`agent-${at}`)}`)}
</div>
</fieldset>`
}

function ruleField(
  name: 'claim' | 'value',
  label: string,
  { at, text, maxLength, mark }: Pick<RuleState, 'at' | 'mark'> & { text: string; maxLength: number },
): Html {
  const id = `${name}-${at}`
  return html`<div class="field">
<label for="${id}">${label}</label>
<input id="${id}" name="${name}" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="${maxLength}" value="${text}" ${mark(id)}>
</div>`
}
