import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentInput } from '../../src/rehearse/agent.ts'

/** Returns input for an agent, as in a trial. No server listens at the URLs in this input. */
export function agentInput(task: string): AgentInput & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'payments-trial-'))
  const url = 'http://127.0.0.1:9'
  return {
    ...{ task, goal: undefined, url, mcpUrl: `${url}/mcp`, shopsUrl: `${url}/shops`, folder },
    ...{ key: 'ak_ntl_sandbox_key-of-the-trial-00', fetch: () => Promise.reject(new Error('No server listens.')) },
    askUrl: `${url}/ask`,
    turns: [{ from: 'person', text: task }],
    notes: {},
    seed: '["1","notebooks",1]',
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}
