import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

// What the bench compares with: the least that one can write with the SDK. Runs at import, because it is a program.
serveStdio(() => {
  const server = new McpServer({ name: 'one-tool', version: '1.0.0' })
  server.registerTool(
    'echo',
    {
      title: 'Echo',
      description: 'Answers with the text it was given.',
      inputSchema: z.object({ text: z.string() }),
      outputSchema: z.object({ text: z.string() }),
    },
    ({ text }) => ({ content: [{ type: 'text', text }], structuredContent: { text } }),
  )
  return server
})
