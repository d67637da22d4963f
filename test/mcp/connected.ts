import { PassThrough } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createClient } from '../../src/client/client.ts'
import type { System } from '../../src/core/system.ts'
import { type CallFaults, noFaults } from '../../src/mcp/dependencies.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { serveOverStdio } from '../../src/mcp/stdio.ts'
import { type GivenOptions, serverOptions } from '../support/server-options.ts'
import type { World } from '../support/world.ts'
import type { Elicitation, Host, hosts, Person, PersonAnswer } from './hosts.ts'

export const instanceId = 'run 7/a'

type ConnectedOptions = Partial<GivenOptions> & {
  key?: string
  person?: Person
  /** Whether the host itself answers questions, immediately and without showing them to the person. */
  hasty?: boolean
  /** Gets each API request before the service. If it returns a response, the service does not get the request. */
  between?: (request: Request) => Response | undefined | Promise<Response | undefined>
  system?: System
  /** Chooses the fault to inject into each call. */
  plan?: CallFaults['plan']
  /** Called when a fault cuts off a call. */
  onCut?: () => void
}

export interface Connected {
  host: Host
  server: ReturnType<typeof createMcpServer>
  /** The API requests that the server sent, each as `METHOD path` and with its idempotency key. */
  sent: { line: string; idempotencyKey: string | null }[]
  logged: object[]
  close(): Promise<void>
}

/** Connects a host over stdio to an MCP server that calls the service of the given world. */
export async function connectHost(
  world: World,
  open: (typeof hosts)[number]['open'],
  {
    key = world.agentKey,
    person,
    hasty = false,
    between,
    system = world.system,
    plan,
    onCut,
    ...options
  }: ConnectedOptions = {},
): Promise<Connected> {
  const sent: Connected['sent'] = []
  const logged: object[] = []
  const record = (fields: object) => void logged.push(fields)
  const log = { info: () => {}, warn: record, error: record }
  const client = createClient({
    baseUrl: 'http://sandbox.test',
    credential: () => key,
    instanceId,
    program: 'payments-mcp/1.2.3',
    system: world.system,
    fetch: async (request) => {
      const line = `${request.method} ${new URL(request.url).pathname}`
      sent.push({ line, idempotencyKey: request.headers.get('Idempotency-Key') })
      return (await between?.(request)) ?? (await world.service.fetch(request))
    },
  })
  const [toServer, toHost] = [new PassThrough(), new PassThrough()]
  const servers: Connected['server'][] = []
  const handle = serveOverStdio({
    createServer: (cut) => {
      const defaults = { client: async () => client, log, instanceId: () => instanceId, system }
      const faults: CallFaults = {
        plan: plan ?? noFaults.plan,
        cut: (id) => {
          cut(id)
          onCut?.()
        },
      }
      const server = createMcpServer(serverOptions({ ...defaults, faults, ...options }))
      servers.push(server)
      return server
    },
    onClose: () => {},
    log,
    system: world.system,
    stdin: toServer,
    stdout: toHost,
  })
  // A person takes a second to answer. A host that answers for the person takes no time.
  const answer: Person['answer'] = (question) => {
    if (!hasty) world.system.pass(1_000)
    return person?.answer(question) ?? no
  }
  const host = open(person === undefined ? undefined : { ...person, answer })
  await host.connect(new StdioServerTransport(toHost, toServer))
  const server = servers.at(-1)
  if (server === undefined) throw new Error('No server was created.')
  const close = async () => {
    await host.close()
    await handle.close()
  }
  return { host, server, sent, logged, close }
}

/** Returns a person who gives these answers in order, and then repeats the last answer. `asked` lists the questions. */
export function person(
  answers: (PersonAnswer | ((elicitation: Elicitation) => PersonAnswer | Promise<PersonAnswer>))[],
  modes: Person['modes'] = { form: {}, url: {} },
) {
  const elicitations: Elicitation[] = []
  const answer: Person['answer'] = (question) => {
    elicitations.push(question)
    const next = answers[Math.min(elicitations.length, answers.length) - 1]
    if (next === undefined) throw new Error('The test gave the person no answers.')
    return typeof next === 'function' ? next(question) : next
  }
  return { modes, answer, asked: elicitations }
}

export const yes: PersonAnswer = { action: 'accept', content: { confirm: true } }
export const unticked: PersonAnswer = { action: 'accept', content: { confirm: false } }
export const no: PersonAnswer = { action: 'decline' }
export const dismissed: PersonAnswer = { action: 'cancel' }
