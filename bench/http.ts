import { type HttpServer, initializeParams, type Programs, processorMs } from './processes.ts'
import { cardAttributes, rateOf } from './sandbox.ts'
import { compare, inTurns, type Row } from './table.ts'

/** A version of MCP: how hosts of this version call a tool over HTTP, and the goal for such calls. */
interface Era {
  name: string
  /** Sends the requests that a host makes before its first tool call. Returns the headers for calls to the tool. */
  greet(server: HttpServer, tool: string): Promise<Record<string, string>>
  /** Parameters that are added to each call. */
  meta: object
  /** The goal: the minimum ratio of our server's calls per second to the one-tool server's calls per second. */
  minRatioToEcho: number
}

const eras: readonly Era[] = [
  {
    name: 'MCP 2025',
    greet: async (server) => {
      const { sessionId } = await server.post({ id: 0, method: 'initialize', params: initializeParams })
      const headers = { 'mcp-session-id': sessionId ?? '', 'mcp-protocol-version': initializeParams.protocolVersion }
      await server.post({ method: 'notifications/initialized' }, headers)
      return headers
    },
    meta: {},
    minRatioToEcho: 0.5,
  },
  {
    name: 'MCP 2026',
    greet: async (_, tool) => ({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    }),
    meta: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': initializeParams.clientInfo,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
    minRatioToEcho: 0.7,
  },
]

type Call = () => Promise<unknown>

async function toolCaller(era: Era, server: HttpServer, name: string, input: object): Promise<Call> {
  const headers = await era.greet(server, name)
  let id = 0
  return () => {
    const params = { name, arguments: input, ...era.meta }
    return server.post({ id: ++id, method: 'tools/call', params }, headers)
  }
}

const calls = 1_500
const limit = 64

/**
 * Compares calls per second over HTTP. Our server checks permissions and durably issues a card for each call. The
 * one-tool server only echoes a string.
 */
export function measureHttp(programs: Programs): Promise<Row[]> {
  return measureEras(programs, async ({ name, minRatioToEcho }, { issue, echo }) => {
    const works = [issue, echo].map((call) => () => rateOf(calls, limit, call))
    const [ours, other] = await inTurns(5, works)
    const measurement = `tool calls over HTTP, ${name}, 64 in flight: issue_agent_card against echo`
    return [compare({ measurement, unit: '/s', ours, other, goal: { atLeast: minRatioToEcho } })]
  })
}

/**
 * Compares the CPU time that our server's process needs to issue a card over MCP with the time that it needs over REST.
 */
export function measureProcessor(programs: Programs): Promise<Row[]> {
  return measureEras(programs, async ({ name }, { ours, oneTool, issue, echo }) => {
    const rest = () => ours.rest('POST', '/agent-cards', cardAttributes)
    const [mine = [], other, sdk] = await inTurns(7, [
      () => processorMsOf(ours, issue),
      () => processorMsOf(ours, rest),
      () => processorMsOf(oneTool, echo),
    ])
    const withoutEcho = mine.map((ms, round) => ms - (sdk?.[round] ?? 0))
    const measurement = `CPU of a tool call over HTTP, ${name}: issue_agent_card against REST`
    return [
      compare({ measurement, unit: 'ms', ours: mine, other }),
      compare({
        measurement: `${measurement}, with the echo's CPU subtracted from ours`,
        unit: 'ms',
        ours: withoutEcho,
        other,
        goal: { atMost: 1.2 },
      }),
    ]
  })
}

type Setup = { ours: HttpServer; oneTool: HttpServer; issue: Call; echo: Call }

async function measureEras(programs: Programs, measure: (era: Era, setup: Setup) => Promise<Row[]>): Promise<Row[]> {
  const [ours, oneTool] = [await programs.startOursHttp(), await programs.startOneToolHttp()]
  try {
    const rows: Row[] = []
    for (const era of eras) {
      const issue = await toolCaller(era, ours, 'issue_agent_card', cardAttributes)
      const echo = await toolCaller(era, oneTool, 'echo', { text: 'hello' })
      rows.push(...(await measure(era, { ours, oneTool, issue, echo })))
    }
    return rows
  } finally {
    await Promise.all([ours.end(), oneTool.end()])
  }
}

async function processorMsOf({ pid }: HttpServer, call: Call): Promise<number> {
  const before = processorMs(pid)
  await rateOf(calls, limit, call)
  return (processorMs(pid) - before) / calls
}
