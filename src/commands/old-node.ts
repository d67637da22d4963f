export { refusalOfNode } from '../core/node-version.ts'

// This file runs on any Node.js with ES modules, so it uses no syntax or function newer than Node.js 14.

/**
 * Prints `refusal`, which says that this Node.js is too old, and sets exit code 1. AI hosts show the answers to their
 * requests, but not stderr. So if a host started the process as an MCP server, the process answers every request with
 * `refusal` until the host closes stdin.
 */
export function refuse(refusal: string, command: string | undefined): void {
  process.exitCode = 1
  process.stderr.write(`${refusal}\n`)
  const isServer = command === undefined || command.startsWith('-')
  if (isServer && !process.stdin.isTTY) answerEach(refusal)
}

/**
 * The maximum length of an input line in characters, far above the length of any `initialize` request. No host sends a
 * longer line, so the process stops reading if one arrives.
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

/** Returns the id of a request; undefined if the line is not a request. */
function idOf(line: string): string | number | undefined {
  try {
    const { id, method } = JSON.parse(line)
    const isRequest = typeof method === 'string' && (typeof id === 'string' || typeof id === 'number')
    return isRequest ? id : undefined
  } catch {
    // The line is not JSON.
    return undefined
  }
}
