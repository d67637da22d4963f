import { foreignName, foreignText } from '../../../core/foreign-text.ts'
import type { AgentChoice, ConsentRequest, ConsentView } from '../../oauth/consent.ts'
import { type ApplicationWords, applicationWords, destinationWords } from '../frame/application-words.ts'
import { spendingWords } from '../frame/spending-words.ts'
import { momentOf } from '../frame/texts.ts'

/** The text about an application's request, as shown to the person who decides on it. Plain text, not HTML. */
export interface ConsentWords {
  application: ApplicationWords
  answerGoesTo: string
  permissions: string[]
  agents: { id: string; name: string; description: string | null; spending: string; use: string; isCurrent: boolean }[]
  /** The text that states how much a new agent could spend. */
  newAgentSpending: string
  mayCreate: boolean
  actsAsUser: boolean
}

/** The values that the person has entered in the form. */
export interface ConsentEntry {
  /** The id of the chosen agent, `new` for a new agent, or empty for no choice. */
  agent: string
  name: string
  description: string
}

export interface ConsentProblem {
  field: 'agent' | 'name' | 'description'
  text: string
}

export function consentWords({ client }: ConsentRequest, view: ConsentView): ConsentWords {
  return {
    application: applicationWords(client),
    answerGoesTo: destinationWords(client.redirectUri),
    permissions: view.permissions.map(({ words }) => words),
    newAgentSpending: spendingWords(view.newAgentSpending),
    agents: view.agents.map(({ id, name, description, lastActiveAtMs, spending }) => ({
      id,
      name: foreignName(name, id, 100),
      description: foreignText(description ?? '') || null,
      spending: spendingWords(spending),
      use: lastActiveAtMs === null ? 'Never used' : `Last used ${momentOf(lastActiveAtMs)}`,
      isCurrent: id === view.currentAgentId,
    })),
    mayCreate: view.mayCreate,
    actsAsUser: view.actsAsUser,
  }
}

/**
 * Returns the initial values of the form. Preselects the connected agent or, if there is none, the most recently used
 * agent. If the party has no agents, preselects a new agent.
 */
export function firstEntry({ agents, currentAgentId }: ConsentView): ConsentEntry {
  const current = agents.find(({ id }) => id === currentAgentId) ?? agents[0]
  return { agent: current?.id ?? newAgent, name: '', description: '' }
}

/** The form value that stands for a new agent. */
export const newAgent = 'new'

export const longestName = 100
export const longestDescription = 500

/** Returns the agent that the person chose, or the problem with the entered values. */
export function choiceOf(entry: ConsentEntry, view: ConsentView): AgentChoice | ConsentProblem {
  if (view.actsAsUser) return { kind: 'user' }
  if (entry.agent !== newAgent) {
    if (view.agents.some(({ id }) => id === entry.agent)) return { kind: 'existing', agentId: entry.agent }
    return { field: 'agent', text: 'Choose the agent that the application acts as.' }
  }
  const [name, description] = [entry.name.trim(), entry.description.trim()]
  if (name === '') return { field: 'name', text: 'Enter a name for the new agent.' }
  if (name.length > longestName) {
    const text = `The name has ${name.length} characters. Shorten it to at most ${longestName}.`
    return { field: 'name', text }
  }
  if (description.length > longestDescription) {
    const text = `The description has ${description.length} characters. Shorten it to at most ${longestDescription}.`
    return { field: 'description', text }
  }
  return { kind: 'new', name, description: description === '' ? null : description }
}
