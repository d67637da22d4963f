// Runs an agent built with Vercel's AI SDK and prints its last message. Argument (JSON): {mcp, model, prompt, person?}.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as Stdio } from '@ai-sdk/mcp/mcp-stdio'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount } from 'ai'

const { mcp, model, prompt, person } = JSON.parse(process.argv[2])
const transport = mcp.url === undefined ? new Stdio(mcp) : { type: 'http', ...mcp }
const capabilities = person === undefined ? {} : { capabilities: { elicitation: {} } }
const client = await createMCPClient({ transport, ...capabilities })
if (person !== undefined) {
  client.onElicitationRequest(
    ElicitationRequestSchema,
    () => new Promise((resolve) => setTimeout(resolve, person.afterMs, person.answer)),
  )
}
try {
  const provider = createOpenAICompatible({ name: 'scripted', baseURL: `${model}/v1`, apiKey: 'none' })
  const tools = await client.tools()
  const { text } = await generateText({ model: provider('scripted'), tools, prompt, stopWhen: isStepCount(12) })
  console.log(text)
} finally {
  await client.close()
}
