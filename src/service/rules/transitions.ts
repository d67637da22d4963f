/** A state machine as a table: for each state, the allowed events, and the next state after each of them. */
export type Transitions<State extends string, Event extends string> = Readonly<
  Record<State, Readonly<Partial<Record<Event, State>>>>
>

/** Returns the state after an event; undefined if the table does not allow the event. */
export function next<State extends string, Event extends string>(
  table: Transitions<State, Event>,
  state: State,
  event: Event,
): State | undefined {
  return table[state][event]
}
