/** The topic sent after a process has changed data that other processes may be watching. */
export const changesTopic = 'changes'

/** The topic sent when the sandbox clock has been moved. */
export const clockTopic = 'clock'

/**
 * Notifications between the processes that share a database, so that no process has to wait for its next poll of the
 * tables. If a notification is lost, no data is lost, because every process also polls the tables.
 */
export interface Signals {
  /** Sends a topic to the other processes, possibly after a short delay. */
  send(topic: string): void
  /** Calls `onSignal` each time another process sends the topic, until the returned function is called. */
  subscribe(topic: string, onSignal: () => void): () => void
  close(): Promise<void>
}
