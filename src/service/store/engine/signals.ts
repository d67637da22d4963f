/** Called out when something was changed. */
export const changesTopic = 'changes'

/** Called out when the sandbox's clock was moved. */
export const clockTopic = 'clock'

/**
 * What the processes of one database call out to each other, so that none has to wait until it looks into the tables
 * again. Nothing is lost when a call is: everything stands in the tables, and they are looked into all the same.
 */
export interface Signals {
  /** Calls out a topic to the other processes, soon. */
  tell(topic: string): void
  /** Calls back when another process called the topic out, until the function that it gives back is called. */
  hear(topic: string, heard: () => void): () => void
  close(): Promise<void>
}
