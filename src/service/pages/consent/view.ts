import { html } from 'hono/html'
import { type Account, signOutForm } from '../frame/account.ts'
import type { Html } from '../frame/document.ts'
import { formPage, titleOf } from '../frame/form-page.ts'
import { askForProof } from '../frame/proof.ts'
import {
  type ConsentEntry,
  type ConsentProblem,
  type ConsentWords,
  longestDescription,
  longestName,
  newAgent,
} from './words.ts'

interface ConsentPage {
  words: ConsentWords
  /** The form's target: the page's own path. */
  action: string
  formToken: string
  account: Account
  /** Whether this session may allow the request. */
  mayAgree: boolean
  entry: ConsentEntry
  problem: ConsentProblem | null
}

/**
 * Renders the page that asks whether an application may act for the person, and as which agent. The page has
 * no script.
 */
export function consentPage(state: ConsentPage): Html {
  const { words, action, account, problem } = state
  const { name, host } = words.application
  const main = html`<h1><bdi>${name}</bdi> asks to connect</h1>
<dl>
<div><dt>Application</dt><dd>${host === null ? 'Its name is not verified.' : html`Verified as <strong>${host}</strong>. The application chose the name above.`}</dd></div>
<div><dt>Returns to</dt><dd>${words.answerGoesTo}</dd></div>
<div><dt>Signed in as</dt><dd><bdi>${account.user}</bdi> (<bdi>${account.email}</bdi>) ${signOutForm(account.signOutToken, 'Not you?', action)}</dd></div>
</dl>
${permissions(words)}
${state.mayAgree ? answerForm(state) : denialForm(state)}`
  return formPage({ title: titleOf(`Connect ${name}`, problem === null ? null : problem.text), main })
}

function permissions({ permissions: texts, actsAsUser }: ConsentWords): Html {
  return html`<section aria-labelledby="permissions">
<h2 id="permissions">If you allow this, the application may</h2>
${texts.length === 0 ? html`<p>${actsAsUser ? 'See who you are' : 'See who you are and which agent the application acts as'}, and nothing else.</p>` : html`<ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>`}
</section>`
}

function answerForm(state: ConsentPage): Html {
  const { words, action, formToken, problem } = state
  return html`<form method="post" action="${action}" novalidate>
<input type="hidden" name="formToken" value="${formToken}">
${problem === null ? '' : html`<p class="problem" id="problem" role="alert">${problem.text}</p>`}
${words.actsAsUser ? actsAsUser(state) : agentChoice(state)}
<p class="aside" id="until">You can revoke the access at any time under <a href="/connections">connected applications</a>.</p>
<div class="choices">
<button type="submit" name="decision" value="allow" aria-describedby="${words.actsAsUser ? 'as-user ' : ''}until">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet">Deny</button>
</div>
</form>`
}

/**
 * Renders the form for a session that began with a one-click sign-in. In such a session, the person can only deny the
 * request.
 */
function denialForm({ action, formToken }: ConsentPage): Html {
  return html`${askForProof('allow it', action)}
<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${formToken}">
<button type="submit" name="decision" value="deny" class="quiet">Deny</button>
</form>`
}

function actsAsUser({ words, account }: ConsentPage): Html {
  return html`<p class="warning" id="as-user"><strong>The application acts as you, <bdi>${account.user}</bdi>, not as an agent.</strong> There is no agent to choose and your role can’t create one, so within these permissions <bdi>${words.application.name}</bdi> may do everything that you may do.</p>`
}

function agentChoice(state: ConsentPage): Html {
  const { words, entry, problem } = state
  const described = problem?.field === 'agent' ? html`aria-describedby="problem"` : ''
  // Without existing agents, there is nothing to choose from.
  if (words.agents.length === 0) {
    return html`<fieldset ${described}>
<legend>Create the agent that the application acts as</legend>
<input type="hidden" name="agent" value="${newAgent}">
${newAgentFields(state)}
</fieldset>`
  }
  return html`<fieldset ${described}>
<legend>The application acts as this agent</legend>
<div class="list">
${words.agents.map((agent, index) => agentOption(agent, { index, entry, problem }))}
${words.mayCreate ? newOption(state) : ''}
</div>
</fieldset>`
}

function agentOption(
  { id, name, description, spending, use, isCurrent }: ConsentWords['agents'][number],
  { index, entry, problem }: { index: number; entry: ConsentEntry; problem: ConsentProblem | null },
): Html {
  const first = index === 0 && problem?.field === 'agent' ? html`autofocus` : ''
  return html`<div class="option box">
<input type="radio" id="agent-${index}" name="agent" value="${id}" aria-describedby="about-${index}" ${entry.agent === id ? html`checked` : ''} ${first}>
<div>
<label for="agent-${index}"><bdi>${name}</bdi></label>
<div class="aside" id="about-${index}">${isCurrent ? html`<p class="current">Connected now</p>` : ''}${description === null ? '' : html`<p><bdi>${description}</bdi></p>`}<p>${spending}</p><p>${use}</p></div>
</div>
</div>
`
}

function newOption(state: ConsentPage): Html {
  return html`<div class="option box">
<input type="radio" id="agent-new" name="agent" value="${newAgent}" ${state.entry.agent === newAgent ? html`checked` : ''}>
<div>
<label for="agent-new">Create a new agent</label>
${newAgentFields(state)}
</div>
</div>`
}

function newAgentFields({ words, entry, problem }: ConsentPage): Html {
  const mark = (field: ConsentProblem['field']) =>
    problem?.field === field ? html`aria-invalid="true" aria-describedby="problem" autofocus` : ''
  return html`<div class="chosen-only stack">
<p class="aside">${words.newAgentSpending}</p>
<div class="field">
<label for="agent-name">Name</label>
<input id="agent-name" name="agentName" autocomplete="off" maxlength="${longestName}" value="${entry.name}" ${mark('name')}>
</div>
<div class="field">
<label for="agent-description">Description (optional)</label>
<textarea id="agent-description" name="agentDescription" rows="2" maxlength="${longestDescription}" ${mark('description')}>
${entry.description}</textarea>
</div>
</div>`
}
