// Runs an agent built with the OpenAI Agents SDK and prints its last message. Argument (JSON): {mcp, model, prompt}.
import { Agent, MCPServerStdio, MCPServerStreamableHttp, OpenAIProvider, Runner } from '@openai/agents'

const { mcp, model, prompt } = JSON.parse(process.argv[2])
// The SDK's default of five seconds is too short for the server to start on a busy machine.
const clientSessionTimeoutSeconds = 120
const server =
  mcp.url === undefined
    ? new MCPServerStdio({ name: 'payments', clientSessionTimeoutSeconds, ...mcp })
    : new MCPServerStreamableHttp({
        name: 'payments',
        clientSessionTimeoutSeconds,
        url: mcp.url,
        requestInit: { headers: mcp.headers },
      })
await server.connect()
try {
  const modelProvider = new OpenAIProvider({ baseURL: `${model}/v1`, apiKey: 'none', useResponses: true })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const agent = new Agent({
    name: 'shopper',
    instructions: 'Buy.',
    model: 'scripted',
    mcpServers: [server],
    mcpConfig: { convertSchemasToStrict: true },
  })
  const { finalOutput } = await runner.run(agent, prompt, { maxTurns: 12 })
  console.log(finalOutput)
} finally {
  await server.close()
}
