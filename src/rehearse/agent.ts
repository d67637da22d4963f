import type { Goal } from './goal.ts'
import type { ModelSettings, Usage } from './trial-record.ts'

/** The agent under rehearsal: a program, a model, a person's AI host, or a scripted baseline. */
export interface Agent {
  /** The name in reports. */
  name: string
  /** Whether the agent is code in this process. If so, trials start no server, and delays in the sandbox are short. */
  isScripted: boolean
  /** Whether a person runs the agent. If so, trials run one at a time, with no time limit and no progress bar. */
  byPerson?: boolean
  /**
   * The settings of the model, if this package runs the model. Such an agent is always connected to the trial's tools.
   * The report therefore omits the advice to check the connection if the agent calls no tool.
   */
  model?: ModelSettings
  /**
   * Carries out a task, and returns the final answer.
   * @throws AgentError if the agent could not be started, or if it ended badly; ProviderError if the service behind the
   * agent's model failed; the signal's reason if the signal aborts
   */
  run(input: AgentInput, signal: AbortSignal): Promise<string>
}

/** The input of an agent in a trial. */
export interface AgentInput {
  task: string
  /** The task as data, which only scripted agents use; undefined if the scenario has no goal. */
  goal: Goal | undefined
  /** The address of the trial's API, without a trailing slash. If the agent is scripted, nothing listens there. */
  url: string
  mcpUrl: string
  /** The address of the page with the shops. */
  shopsUrl: string
  /** The API key that the agent uses. */
  key: string
  /** Works like the global `fetch`, but without the network: this process answers the requests. */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** The address for questions to the person. The agent can post questions there while it works. */
  askUrl: string
  /** The conversation so far. Its last message is the task. */
  turns: readonly Turn[]
  /** Data that the agent stores for its next turn in the same trial. */
  notes: Notes
  /** The full path of an empty folder that is deleted after the trial; an empty string for scripted agents. */
  folder: string
  /**
   * A string that differs between trials. If a rehearsal is repeated with the same seed, each trial gets the same
   * string as before.
   */
  seed: string
}

/** Data that an agent stores during one trial. */
export interface Notes {
  /** The usage of the agent's model, as reported in the results. */
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

/** A failure of the service behind an agent's model. The trial says nothing about the agent and is not judged. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
}
