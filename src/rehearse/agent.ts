import type { Goal } from './goal.ts'

/** The agent under rehearsal: a program, a person's host, or a scripted baseline. */
export interface Agent {
  /** The name in reports. */
  name: string
  /** Whether it runs in this process. Then nothing has to listen, and no wait takes longer than 2 s of real time. */
  isScripted: boolean
  /** Whether a person runs it: one trial at a time, without a time limit or a progress bar. */
  byPerson?: boolean
  /**
   * Carries out a task, and returns the final answer.
   * @throws AgentError if it could not be started or ended badly; the signal's reason once it aborts
   */
  run(given: Given, signal: AbortSignal): Promise<string>
}

/** The input of an agent in a trial. */
export interface Given {
  task: string
  /** The task as data, for scripted agents only; undefined if the scenario has none. */
  goal: Goal | undefined
  /** The address of the trial's API, without a trailing slash. Nothing listens there for a scripted agent. */
  url: string
  mcpUrl: string
  /** The page with the shops. */
  shopsUrl: string
  /** The API key with which it acts. */
  key: string
  /** Works like the global `fetch`, but is answered in this process. */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** Answers questions to the person, for agents that can ask in the middle of their work. */
  askUrl: string
  /** The conversation so far. Its last text is the task. */
  turns: readonly Turn[]
  /** The full path of an empty folder that is deleted after the trial. */
  folder: string
  /** A text that differs between trials, and is the same in each run of a trial. */
  seed: string
}

/** A text of the conversation between the person and the agent. */
export interface Turn {
  from: 'person' | 'agent'
  text: string
}

/** An agent that could not be started, or ended badly: the trial fails, and the report says why. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
}
