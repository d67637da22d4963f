import type { Goal } from './goal.ts'
import type { ModelSettings, Usage } from './trial-record.ts'

/** The agent under rehearsal: a program, a model, a person's AI host, or a scripted baseline. */
export interface Agent {
  /** The name in reports. */
  name: string
  /** Whether it is code in this process. If so, the trial starts no server and shortens the sandbox's real waits. */
  isScripted: boolean
  /** Whether a person runs it. If so, trials run one at a time, without a time limit or a progress bar. */
  byPerson?: boolean
  /**
   * The settings of the model, if this package runs it. Such an agent always gets the trial's tools, so it is not
   * advised to check its connection if it calls none of them.
   */
  model?: ModelSettings
  /**
   * Carries out a task, and returns the final answer.
   * @throws AgentError if the agent could not be started, or if it ended badly; ProviderError if the service behind its
   * model failed; the signal's reason if the signal aborts
   */
  run(input: AgentInput, signal: AbortSignal): Promise<string>
}

/** The input of an agent in a trial. */
export interface AgentInput {
  task: string
  /** The task as data, for scripted agents only; undefined if the scenario has none. */
  goal: Goal | undefined
  /** The address of the trial's API, without a trailing slash. Nothing listens there for a scripted agent. */
  url: string
  mcpUrl: string
  /** The page with the shops. */
  shopsUrl: string
  /** The API key that the agent uses. */
  key: string
  /** Works like the global `fetch`, but without the network: this process answers the requests. */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** The address to which the agent can post questions to the person while it works. */
  askUrl: string
  /** The conversation so far. Its last message is the task. */
  turns: readonly Turn[]
  /** Data that the agent stores for its next turn in the same trial. */
  notes: Notes
  /** The full path of an empty folder that is deleted after the trial; an empty string for scripted agents. */
  folder: string
  /** A string that differs between trials, but is the same if the rehearsal is repeated. */
  seed: string
}

/** Data that an agent stores during one trial. */
export interface Notes {
  /** The tokens that the agent's model used, as reported in the results. */
  usage?: Usage
  /** The agent's conversation with a model, including tool calls. */
  messages?: readonly unknown[]
}

/** A message in the conversation between the person and the agent. */
export interface Turn {
  from: 'person' | 'agent'
  text: string
}

/** The error of an agent that could not be started, or that ended badly. The trial fails, and the report says why. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
}

/** A failure of the service behind an agent's model. The trial says nothing about the agent, so it is not judged. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
}
