// Runs an agent built with LangChain and prints its last message. Argument (JSON): {mcp, model, prompt}.
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent } from 'langchain'

const { mcp, model, prompt } = JSON.parse(process.argv[2])
const connection = mcp.url === undefined ? { transport: 'stdio', ...mcp } : { transport: 'http', ...mcp }
const client = new MultiServerMCPClient({ mcpServers: { payments: connection }, throwOnLoadError: true })
try {
  const tools = await client.getTools()
  const chat = new ChatOpenAI({ model: 'scripted', apiKey: 'none', configuration: { baseURL: `${model}/v1` } })
  const { messages } = await createAgent({ model: chat, tools }).invoke({
    messages: [{ role: 'user', content: prompt }],
  })
  console.log(messages.at(-1).text)
} finally {
  await client.close()
}
