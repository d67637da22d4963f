import { dataOf, Refusal, unknownOutcome } from './answers.js'

/** @typedef {import('./answers.js').ToolResult} ToolResult */
/** @typedef {{ theme?: string, timeZone?: string, styles?: { variables?: Record<string, string | undefined> }, toolInfo?: { tool: { name: string } } }} HostContext */
/**
 * @typedef Listener
 * @property {(input: Record<string, any>) => void} onInput gets the arguments of the tool call that the view belongs to
 * @property {(result: ToolResult) => void} onResult gets the result of that call, or of a later call in this view
 * @property {(reason: string) => void} onCancelled gets the reason why that call was canceled
 * @property {() => void} onEnd runs when the view is about to be removed
 */

/** The supported version of the MCP Apps protocol. */
const version = '2026-01-26'

/** The time limit of a request. It leaves a person enough time to answer a question from the server. */
const timeoutMs = 10 * 60_000

/**
 * Creates the view's connection to its host. In the MCP Apps protocol, a view and its parent window exchange JSON-RPC
 * messages. We implement the protocol ourselves because the official client library is larger than all views together.
 * @param {Listener} listener
 */
export function connectHost(listener) {
  /** @type {HostContext} */
  let context = {}
  let mayCall = false

  // The host's origin is unknown, so messages may go to any origin. The host may see everything that we send.
  const send = (/** @type {object} */ message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
  const { request, answer } = createRequests(send)

  const onNotification = /** @type {Record<string, (params: any) => void>} */ ({
    'ui/notifications/tool-input': (params) => listener.onInput(params.arguments ?? {}),
    'ui/notifications/tool-result': (params) => listener.onResult(params),
    'ui/notifications/tool-cancelled': (params) => listener.onCancelled(String(params.reason ?? 'no reason given')),
    'ui/notifications/host-context-changed': updateContext,
  })
  const onRequest = /** @type {Record<string, () => void>} */ ({ ping() {}, 'ui/resource-teardown': listener.onEnd })

  addEventListener('message', ({ source, data }) => {
    if (source !== parent || parent === window || data?.jsonrpc !== '2.0') return
    const { id, method, params = {} } = data
    if (method === undefined) answer(id, data)
    else if (id === undefined) onNotification[method]?.(params)
    else if (onRequest[method] === undefined) send({ id, error: { code: -32601, message: `Unknown method ${method}` } })
    else {
      onRequest[method]()
      send({ id, result: {} })
    }
  })

  /**
   * Merges changes into the host context, and applies the host's theme.
   * @param {HostContext} changes
   */
  function updateContext(changes) {
    context = { ...context, ...changes }
    applyTheme(context)
  }

  return {
    /** Introduces the view to the host. The host then begins to send data. */
    async connect() {
      const appInfo = { name: 'payments-mcp', version: '1' }
      const initialized = await request('ui/initialize', { appInfo, appCapabilities: {}, protocolVersion: version })
      mayCall = initialized.hostCapabilities?.serverTools !== undefined
      updateContext(initialized.hostContext ?? {})
      send({ method: 'ui/notifications/initialized', params: {} })
      reportSize(send)
    },
    /** Returns whether the host forwards tool calls to the server. */
    mayCall: () => mayCall,
    context: () => context,
    /**
     * Calls a tool of the server through the host. Undefined arguments are left out.
     * @param {string} name
     * @param {Record<string, unknown>} input
     * @returns {Promise<any>} the data in the tool's result
     * @throws {Refusal}
     */
    call: async (name, input) =>
      dataOf(await request('tools/call', { name, arguments: JSON.parse(JSON.stringify(input)) })),
  }
}

/**
 * Creates two functions: `request` sends requests to the host, and `answer` takes the host's answers to these requests.
 * @param {(message: object) => void} send
 */
function createRequests(send) {
  /** @type {Map<number, (answer: { result?: any, error?: { code?: number, message?: string } }) => void>} */
  const waiting = new Map()
  let sent = 0
  return {
    /**
     * Sends a request to the host, and resolves with its result.
     * @param {string} method
     * @param {object} params
     * @returns {Promise<any>}
     */
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = ++sent
        const settle = (/** @type {() => void} */ how) => {
          clearTimeout(timer)
          waiting.delete(id)
          how()
        }
        const onTimeout = () => reject(new Refusal('The host did not answer.', unknownOutcome))
        const timer = setTimeout(() => settle(onTimeout), timeoutMs)
        waiting.set(id, ({ result, error }) =>
          settle(() => (error === undefined ? resolve(result) : reject(hostRefusal(error)))),
        )
        send({ id, method, params })
      }),
    /**
     * Settles the request that the host has answered.
     * @param {number} id
     * @param {{ result?: any, error?: { code?: number, message?: string } }} data
     */
    answer: (id, data) => waiting.get(id)?.(data),
  }
}

/** The JSON-RPC codes for an unknown method or tool. */
const unknownCodes = [-32601, -32602]

/**
 * Creates the refusal for an error that the host returned.
 * @param {{ code?: number, message?: string }} error
 */
function hostRefusal({ code = 0, message = 'no reason given' }) {
  if (unknownCodes.includes(code)) return new Refusal(message, { advice: 'The server or the host lacks this feature.' })
  // The host's own time limit may have expired after the call reached the server.
  return new Refusal(`The host could not carry out the call: ${message}.`, unknownOutcome)
}

/**
 * The view's colors, each with the host's variable that replaces the color. If the host does not set all of these
 * variables, no color is replaced, because a mixture may be unreadable.
 */
const colors = /** @type {const} */ ({
  '--surface': '--color-background-primary',
  '--text': '--color-text-primary',
  '--quiet': '--color-text-secondary',
  '--faint': '--color-border-secondary',
})

/**
 * Applies the host's theme.
 * @param {HostContext} context
 */
function applyTheme({ theme, styles }) {
  const root = document.documentElement
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
  const variables = styles?.variables ?? {}
  const complete = Object.values(colors).every((name) => variables[name])
  for (const [own, name] of Object.entries(colors)) root.style.setProperty(own, complete ? (variables[name] ?? '') : '')
  root.style.setProperty('--font', variables['--font-sans'] ?? '')
}

/**
 * Notifies the host of the view's size, now and whenever it changes.
 * @param {(message: object) => void} send
 */
function reportSize(send) {
  const report = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height)
    send({ method: 'ui/notifications/size-changed', params: { width: innerWidth, height } })
  }
  new ResizeObserver(report).observe(document.body)
}
