import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Fault } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Go, ToolCall } from '../people/decide.ts'
import type { TakenArguments } from './arguments.ts'
import type { Guard } from './guard.ts'
import type { Sent } from './repeats.ts'

// The phases of a call, in order. Each has everything that the previous one knows.

/** A call as it arrived from the host. */
export interface Arrived {
  dependencies: Dependencies
  context: ServerContext
  name: string
  /** The arguments as the host sent them. */
  hostArguments: Record<string, unknown>
}

/** A call of an operation that the connection offers. */
export interface Known extends Arrived {
  operation: OperationDefinition
}

/** A call whose fault is chosen. */
export interface Planned extends Known {
  fault: Fault | undefined
}

/** A call with valid arguments: the arguments that were sent, or those that a person decided about. */
export type Parsed = Planned & ToolCall & TakenArguments

/** A call that may be sent: a person agreed, or did not have to be asked. */
export type Decided = Omit<Parsed, keyof Go> & Go & { guard: Guard }

/** A call with the API's answer. */
export type Answered = Decided & { result: Sent }

/** A call that is over, with an answer for the host, or an error that becomes an answer. */
export type Done = { decision: string | undefined } & ({ answer: Answer } | { error: unknown })

export type Answer = CallToolResult | InputRequiredResult
