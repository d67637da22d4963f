import { Client } from '@modelcontextprotocol/client'
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'

/**
 * A host that supports MCP Apps: an MCP client in a page, and an iframe with the view of the last called tool that has
 * a view.
 */

const client = new Client(
  { name: 'test-host', version: '1' },
  {
    capabilities: {
      elicitation: { form: {} },
      extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
    },
  },
)
client.setRequestHandler('elicitation/create', ({ params }) => window.askPerson(params))
const transport = {
  start: async () => {},
  send: async (message) => window.toServer(JSON.stringify(message)),
  close: async () => {},
}
window.fromServer = (text) => transport.onmessage(JSON.parse(text))

/** The bridge to the current view. */
let bridge
let toolList

window.host = {
  connect: () => client.connect(transport),

  /** Calls a tool as a model would, and shows the tool's view, if it has one. */
  async use(name, input, { context = {}, capabilities = { serverTools: {} } } = {}) {
    toolList ??= await client.listTools()
    const tool = toolList.tools.find((each) => each.name === name)
    const result = await client.callTool({ name, arguments: input })
    if (tool._meta?.ui !== undefined) {
      await show(tool, capabilities, context)
      await bridge.sendToolInput({ arguments: input })
      await bridge.sendToolResult(result)
    }
    return result
  },

  /** Calls a tool and passes the result to the current view. */
  async callToolForView(name, input) {
    await bridge.sendToolResult(await client.callTool({ name, arguments: input }))
  },

  sendResult: (result) => bridge.sendToolResult(result),
  sendCancel: (reason) => bridge.sendToolCancelled({ reason }),
  setContext: (context) => bridge.setHostContext(context),
  endView: () => bridge.teardownResource({}),
}

async function show(tool, capabilities, context) {
  const { contents } = await client.readResource({ uri: tool._meta.ui.resourceUri })
  await bridge?.close()
  document.querySelector('iframe')?.remove()
  const frame = document.createElement('iframe')
  frame.title = 'The view'
  frame.setAttribute('sandbox', 'allow-scripts')
  bridge = new AppBridge(client, { name: 'test-host', version: '1' }, capabilities, {
    hostContext: { toolInfo: { tool }, timeZone: 'UTC', ...context },
  })
  const ready = new Promise((resolve) => {
    bridge.oninitialized = resolve
  })
  bridge.onsizechange = ({ height }) => {
    frame.height = height
  }
  const address = await window.serveView(contents[0].text)
  document.body.append(frame)
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
  frame.src = address
  await ready
}
