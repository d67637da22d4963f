import type { Goal } from './goal.ts'
import type { ModelSettings, Usage } from './trial-record.ts'

/** The agent under rehearsal: a program, a person's host, or a scripted baseline. */
export interface Agent {
  /** The name in reports. */
  name: string
  /**
   * Whether it runs in this process. If so, no server has to listen, and no wait takes longer than 2 s of real time.
   */
  isScripted: boolean
  /** Whether a person runs it: one trial at a time, without a time limit or a progress bar. */
  byPerson?: boolean
  /**
   * The settings of its model, if this package runs the model. An agent with a model has the trial's tools even if it
   * calls none of them.
   */
  model?: ModelSettings
  /**
   * Carries out a task, and returns the final answer.
   * @throws AgentError if it could not be started or ended badly; ProviderError; the signal's reason once it aborts
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
  /** Works like the global `fetch`, but this process answers. */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** The address that answers questions to the person, for agents that can ask while they work. */
  askUrl: string
  /** The conversation so far. Its last text is the task. */
  turns: readonly Turn[]
  /** The agent's own notes, which are kept for its next turn in the same trial. */
  notes: Notes
  /** The full path of an empty folder that is deleted after the trial. */
  folder: string
  /** A text that differs between trials, but is the same whenever a trial is run again. */
  seed: string
}

/** An agent's notes on one trial. */
export interface Notes {
  /** The tokens that the agent used. They are kept in the results. */
  usage?: Usage
  /** The agent's conversation with a model, including tool calls. */
  messages?: readonly unknown[]
}

/** A text of the conversation between the person and the agent. */
export interface Turn {
  from: 'person' | 'agent'
  text: string
}

/**
 * The error of an agent that could not be started or ended badly. The trial fails, and the report states the reason.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError'
}

/** A failure of the service behind an agent's model. The trial says nothing about the agent, so it is not judged. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
}
