import { Client, ProtocolError, ProtocolErrorCode, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Catalogue, catalogue, type OperationKey } from '../../../tools/index.ts'
import { resultValidator } from '../../client/result-schemas.ts'
import type { Resource, SentInput } from '../../core/operation.ts'
import type { AgentInput } from '../agent.ts'
import { askTool } from '../questions.ts'

export type Answered<Key extends OperationKey> = Catalogue[Key]['result'] extends 'page' | 'several'
  ? Resource<Catalogue[Key]>[]
  : Resource<Catalogue[Key]>

/** A refusal. The service says that nothing was done. */
export interface Refused {
  kind: 'refused'
  code: string
  detail: string
  /** The decision with which to repeat the call once a person has decided. */
  decision: string | undefined
}

/** The outcome of a tool call. Without an answer, it is unknown whether the call was carried out. */
export type Outcome<Data> = { kind: 'answered'; data: Data } | Refused | { kind: 'unanswered' }

export type Call = <Key extends OperationKey>(
  operation: Key,
  input: SentInput<Catalogue[Key]>,
  extra?: Record<string, string>,
) => Promise<Outcome<Answered<Key>>>

/** The tools of a trial, as an AI host calls them. */
export interface Tools {
  /** Makes one call. If a person has to decide first, waits for the decision. */
  call: Call
  /** Asks the person. Returns the reply; undefined if they don't know. */
  ask(question: string): Promise<string | undefined>
  /** Returns an unused key. Every run of the same trial gets the same keys. */
  newKey(): string
}

/** The timeout of a call. In a scripted agent's trial, hangs last at most 2 s of real time. */
const answerWithinMs = 10_000

/**
 * How often a call waits for a person's decision. Together, the waits are longer than the page for the decision is
 * valid.
 */
const maxWaits = 15

/** Connects to the trial's MCP server, and closes the connection after the work. */
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
    // The connection retries nothing: agents themselves retry lost calls under their keys.
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

/** Reads an error: its fields are JSON on the last line, after sentences. */
function refusal(content: readonly { type: string; text?: unknown }[]): Refused {
  const text = String(content[0]?.text)
  const { error } = JSON.parse(text.slice(text.lastIndexOf('\n') + 1))
  return { kind: 'refused', code: String(error.code), detail: String(error.detail), decision: error.decision }
}
