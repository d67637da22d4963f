import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Catalogue, catalogue, type OperationKey } from '../../../tools/index.ts'
import { resultSchemas } from '../../client/result-schemas.ts'
import type { Resource, SentInput } from '../../core/operation.ts'
import type { Given } from '../agent.ts'

export type Answered<Key extends OperationKey> = Catalogue[Key]['result'] extends 'page' | 'several'
  ? Resource<Catalogue[Key]>[]
  : Resource<Catalogue[Key]>

/** Nothing was done, as far as the service says. */
export interface Refused {
  kind: 'refused'
  code: string
  detail: string
  /** Where a person has to decide first: by it the call is made again. */
  decision: string | undefined
}

/** What a call of a tool came to. Nobody knows what was done where no answer came. */
export type Outcome<Data> = { kind: 'answered'; data: Data } | Refused | { kind: 'unanswered' }

export type Call = <Key extends OperationKey>(
  operation: Key,
  input: SentInput<Catalogue[Key]>,
  extra?: Record<string, string>,
) => Promise<Outcome<Answered<Key>>>

/** The tools of a trial, as an AI host calls them. */
export interface Tools {
  /** One call. A person who has to decide first is waited for. */
  call: Call
  /** A text that nothing was sent under yet, the same in each run of the trial. */
  newKey(): string
}

/** No answer of a scripted agent's trial takes longer: its hangs last 2 s of real time at the most. */
const answerWithinMs = 10_000

/** So often a call asks whether the person decided: for longer than their page lasts. */
const mostWaits = 15

/** Connects to the trial's MCP server, and closes the connection after the work. */
export async function withTools(
  { mcpUrl, key, fetch, seed }: Given,
  signal: AbortSignal,
  work: (tools: Tools) => Promise<string>,
): Promise<string> {
  const client = new Client(
    { name: 'scripted-agent', version: '1' },
    { versionNegotiation: { mode: 'auto' }, jsonSchemaValidator: resultSchemas },
  )
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
    fetch,
    // What was lost is asked for again under its key, as agents do.
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
      call: (operation, input, extra) => decided({ client, signal }, operation, { ...input, ...extra }),
      newKey: () => {
        keys += 1
        return `${seed}-${keys}`
      },
    })
  } finally {
    await client.close()
  }
}

interface Connection {
  client: Client
  signal: AbortSignal
}

async function decided<Key extends OperationKey>(
  connection: Connection,
  operation: Key,
  input: Record<string, unknown>,
): Promise<Outcome<Answered<Key>>> {
  let outcome = await called(connection, operation, input)
  for (let waits = 0; waits < mostWaits; waits++) {
    if (outcome.kind !== 'refused' || outcome.code !== 'confirmation_pending') break
    outcome = await called(connection, operation, { ...input, decision: outcome.decision })
  }
  return outcome
}

async function called<Key extends OperationKey>(
  { client, signal }: Connection,
  operation: Key,
  input: Record<string, unknown>,
): Promise<Outcome<Answered<Key>>> {
  const { name } = catalogue[operation]
  try {
    const result = await client.callTool({ name, arguments: input }, { signal, timeout: answerWithinMs })
    if (result.isError === true) return refusal(result.content)
    return { kind: 'answered', data: (result.structuredContent as { data: Answered<Key> }).data }
  } catch {
    signal.throwIfAborted()
    return { kind: 'unanswered' }
  }
}

/** The fields of an error stand on its last line, after sentences. */
function refusal(content: readonly { type: string; text?: unknown }[]): Refused {
  const text = String(content[0]?.text)
  const { error } = JSON.parse(text.slice(text.lastIndexOf('\n') + 1))
  return { kind: 'refused', code: String(error.code), detail: String(error.detail), decision: error.decision }
}
