import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Fault } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { Dependencies } from '../dependencies.ts'
import type { AllowedCall, ToolCall } from '../people/decide.ts'
import type { TakenArguments } from './arguments.ts'
import type { Guard } from './guard.ts'
import type { Sent } from './repeats.ts'

// The phases of a call, in order. Each phase except the last, `Done`, contains the data of an earlier phase and more.

/** A call as it arrived from the host. */
export interface Arrived {
  dependencies: Dependencies
  context: ServerContext
  name: string
  /** The arguments as the host sent them. */
  hostArguments: Record<string, unknown>
}

/** A call to an operation that the connection offers. */
export interface Known extends Arrived {
  operation: OperationDefinition
}

/** A call with the fault to inject. The fault is undefined if the call gets none. */
export interface Planned extends Known {
  fault: Fault | undefined
}

/** A call with valid arguments: those that the host sent or, with a decision, those that the person was asked about. */
export type Parsed = Planned & ToolCall & TakenArguments

/** A call that may be sent: a person agreed, or did not have to be asked. */
export type Decided = Omit<Parsed, keyof AllowedCall> & AllowedCall & { guard: Guard }

/** A call with the API's answer. */
export type Answered = Decided & { result: Sent }

/** The outcome of a call: an answer for the host, or an error that is converted to an answer. */
export type Done = { decision: string | undefined } & ({ answer: Answer } | { error: unknown })

export type Answer = CallToolResult | InputRequiredResult
