import type { Goal } from './goal.ts'

/** What is rehearsed: a program, a person's host, or one of the scripted baselines. */
export interface Agent {
  /** As the report names it. */
  name: string
  /** Runs in this process, so that nothing has to listen and no wait is longer than 2 s of real time. */
  isScripted: boolean
  /** A person carries it out: one trial at a time, for as long as it takes, and without a bar that would be in the way. */
  byPerson?: boolean
  /**
   * Carries a task out, and gives what it says last.
   * @throws AgentError where it could not be started, or ended badly; the reason of the signal, once it aborts.
   */
  run(given: Given, signal: AbortSignal): Promise<string>
}

/** What an agent is given in a trial. */
export interface Given {
  task: string
  /** The task as a program understands it, for scripted agents alone; undefined: the scenario tells none. */
  goal: Goal | undefined
  /** The address of the trial's API, without a slash at its end. Nobody listens there for a scripted agent. */
  url: string
  mcpUrl: string
  /** The page with the shops. */
  shopsUrl: string
  /** The key of the agent that it acts as. */
  key: string
  /** As the global one, answered in this process. */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** An empty folder of its own, by its full path, which is deleted when the trial is over. */
  folder: string
  /** A text that is another one in each trial, and the same in each run of it. */
  seed: string
}

/** An agent that could not be started, or ended badly: the trial fails, and the report says why. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
}
