export { refusalOfNode } from '../core/node-version.ts'

// Runs on any Node.js with ES modules: no syntax or function here is newer than Node.js 14.

/**
 * Ends the process with the refusal. An AI host shows no stderr, only the answers to its requests. So if a host
 * listens, each request is answered with the refusal until the host hangs up.
 */
export function refuse(refusal: string, command: string | undefined): void {
  process.exitCode = 1
  process.stderr.write(`${refusal}\n`)
  const isServer = command === undefined || command.startsWith('-')
  if (isServer && !process.stdin.isTTY) answerEach(refusal)
}

/**
 * The most characters of a line, which is more than any `initialize` has. A longer line does not come from a host, so
 * reading stops.
 */
const longestLine = 1_000_000

function answerEach(refusal: string): void {
  let text = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (chunk) => {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) answer(line, refusal)
    if (text.length > longestLine) process.stdin.destroy()
  })
}

function answer(line: string, refusal: string): void {
  const id = idOf(line)
  if (id === undefined) return
  // JSON-RPC 2.0, section 5.1: an internal error.
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: refusal } })}\n`)
}

/** Returns the id of a request; undefined for a notification, and for a line that is not a message. */
function idOf(line: string): string | number | undefined {
  try {
    const { id, method } = JSON.parse(line)
    const isRequest = typeof method === 'string' && (typeof id === 'string' || typeof id === 'number')
    return isRequest ? id : undefined
  } catch {
    // The line is not a request. The refusal is on stderr.
    return undefined
  }
}
