import { Client, ProtocolError, ProtocolErrorCode, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Catalogue, catalogue, type OperationKey } from '../../../tools/index.ts'
import { resultValidator } from '../../client/result-schemas.ts'
import type { Resource, SentInput } from '../../core/operation.ts'
import type { AgentInput } from '../agent.ts'
import { askTool } from '../questions.ts'

/** The data in an operation's answer: one resource or a list. */
export type Answered<Key extends OperationKey> = Catalogue[Key]['result'] extends 'page' | 'several'
  ? Resource<Catalogue[Key]>[]
  : Resource<Catalogue[Key]>

/**
 * An error that a tool returned. After a temporary error, such as `bad_gateway`, the call may have had an effect. After
 * any other error, it had none.
 */
export interface Refused {
  kind: 'refused'
  code: string
  detail: string
  /** The value for the argument `decision` when the call is repeated; undefined if no person has to decide. */
  decision: string | undefined
}

/** The outcome of a tool call. If it is `unanswered`, it is unknown whether the call was carried out. */
export type Outcome<Data> = { kind: 'answered'; data: Data } | Refused | { kind: 'unanswered' }

export type Call = <Key extends OperationKey>(
  operation: Key,
  input: SentInput<Catalogue[Key]>,
  extra?: Record<string, string>,
) => Promise<Outcome<Answered<Key>>>

/** The tools of a trial, as an AI host calls them. */
export interface Tools {
  /** Calls a tool. If a person has to decide first, waits for the decision. */
  call: Call
  /** Asks the person. Returns the reply; undefined if the person doesn't know the answer. */
  ask(question: string): Promise<string | undefined>
  /** Returns an unused idempotency key. If the trial is repeated with the same seed, it gets the same keys. */
  newKey(): string
}

/**
 * The timeout of a call. It is longer than the fault `hang`, because the sandbox's real waits are shortened for
 * scripted agents.
 */
const answerWithinMs = 10_000

/**
 * The maximum number of times that a call is repeated while a person decides. The page for the decision expires before
 * the last repeat ends.
 */
const maxWaits = 15

/** Runs the work with the tools of the trial's MCP server. */
export async function withTools(
  { mcpUrl, key, fetch, seed }: AgentInput,
  signal: AbortSignal,
  work: (tools: Tools) => Promise<string>,
): Promise<string> {
  const client = new Client(
    { name: 'scripted-agent', version: '1' },
    { versionNegotiation: { mode: 'auto' }, jsonSchemaValidator: resultValidator },
  )
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
    fetch,
    // The connection does not retry, because each agent decides for itself how to handle a lost call.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
    },
  })
  await client.connect(transport, { signal })
  let keys = 0
  try {
    await client.listTools(undefined, { signal })
    return await work({
      call: (operation, input, extra) => callUntilDecided({ client, signal }, operation, { ...input, ...extra }),
      ask: (question) => askPerson({ client, signal }, question),
      newKey: () => {
        keys += 1
        return `${seed}-${keys}`
      },
    })
  } finally {
    await client.close()
  }
}

async function askPerson({ client, signal }: Connection, question: string): Promise<string | undefined> {
  const result = await client.callTool({ name: askTool, arguments: { question } }, { signal, timeout: answerWithinMs })
  const { reply, known } = result.structuredContent as { reply: string; known: boolean }
  return known ? reply : undefined
}

interface Connection {
  client: Client
  signal: AbortSignal
}

async function callUntilDecided<Key extends OperationKey>(
  connection: Connection,
  operation: Key,
  input: Record<string, unknown>,
): Promise<Outcome<Answered<Key>>> {
  let outcome = await callOnce(connection, operation, input)
  for (let waits = 0; waits < maxWaits; waits++) {
    if (outcome.kind !== 'refused' || outcome.code !== 'confirmation_pending') break
    outcome = await callOnce(connection, operation, { ...input, decision: outcome.decision })
  }
  return outcome
}

async function callOnce<Key extends OperationKey>(
  { client, signal }: Connection,
  operation: Key,
  input: Record<string, unknown>,
): Promise<Outcome<Answered<Key>>> {
  const { name } = catalogue[operation]
  try {
    const result = await client.callTool({ name, arguments: input }, { signal, timeout: answerWithinMs })
    if (result.isError === true) return refusal(result.content)
    return { kind: 'answered', data: (result.structuredContent as { data: Answered<Key> }).data }
  } catch (error) {
    signal.throwIfAborted()
    // The server does not offer the tool to this connection, so nothing was done.
    if (error instanceof ProtocolError && error.code === ProtocolErrorCode.InvalidParams) {
      return { kind: 'refused', code: 'unknown_tool', detail: error.message, decision: undefined }
    }
    return { kind: 'unanswered' }
  }
}

/** Parses a tool's error. The last line of its text is JSON with the fields of the error. */
function refusal(content: readonly { type: string; text?: unknown }[]): Refused {
  const text = String(content[0]?.text)
  const { error } = JSON.parse(text.slice(text.lastIndexOf('\n') + 1))
  return { kind: 'refused', code: String(error.code), detail: String(error.detail), decision: error.decision }
}
