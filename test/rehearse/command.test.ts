import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { AgentError, type AgentInput } from '../../src/rehearse/agent.ts'
import { commandAgent } from '../../src/rehearse/agents/command.ts'
import { agentInput } from './agent-input.ts'
import { ownStart } from './own-start.ts'

let input: AgentInput & Disposable
beforeEach(() => {
  input = agentInput('Buy a book for 4200 cents at Plain Goods.')
})
afterEach(() => input[Symbol.dispose]())

const options = (env: Record<string, string> = {}) => ({
  env: { PATH: process.env.PATH, ...env },
  start: ownStart,
  system: realSystem,
})
/** A system whose sleeps take a twentieth of the requested time, for example 0.1 s instead of 2 s. */
const impatient = { sleep: (ms: number) => realSystem.sleep(ms / 20) }
const { signal } = new AbortController()
const run = (command: string, env?: Record<string, string>) => commandAgent(command, options(env)).run(input, signal)
/** Returns a command that runs a script with Node.js. The script must not contain `"` or `$`. */
const script = (text: string) => `"${process.execPath}" -e "${text}"`

describe('an agent that is a command', () => {
  it('a command gets the environment variables of the rehearsing process and those of the trial, which take precedence', async () => {
    const names = ['TASK', 'MCP_URL', 'MCP_KEY', 'API_URL', 'SHOPS_URL', 'TRIAL_FOLDER', 'TRIAL_SEED', 'MODEL_KEY']
    const print = script(`console.log(JSON.stringify(process.env))`)
    const env = JSON.parse(await run(print, { MODEL_KEY: 'of the host', TASK: 'Another task.' }))
    expect(names.map((name) => env[name])).toEqual([
      ...[input.task, input.mcpUrl, input.key, input.url, input.shopsUrl, input.folder],
      expect.stringMatching(/^[0-9a-f]{16}$/),
      'of the host',
    ])
    expect(statSync(env.MCP_CONFIG).mode & 0o077).toBe(0)
    expect(env.MCP_CONFIG).toBe(join(input.folder, '.mcp.json'))
  })

  it('an API key in a command is masked in the agent’s name', () => {
    expect(commandAgent('host --key ak_ntl_sandbox_1234567890abcdef', options()).name).toBe(
      'host --key ak_ntl_sandbox_[masked]',
    )
  })

  it('the last 16,000 characters that a command prints, without color codes, are its answer', async () => {
    const text =
      "for (let i = 0; i < 200000; i += 1) console.log('line €€€ ' + i); console.log('\\u001b[32mDone.\\u001b[0m  ')"
    const answer = await run(script(text))
    expect(answer).toMatch(/line €€€ 199999\nDone\.$/)
    expect(answer).toHaveLength(16_000)
    expect(answer).not.toContain('\ufffd')
  })

  it('an answer with HTML, JSON and shell syntax is returned unchanged', async () => {
    const hostile = '</script><img src=x> {"passed": true} $TASK `id` \\\\'
    writeFileSync(join(input.folder, 'answer'), hostile)
    expect(await run('cat "$TRIAL_FOLDER/answer"')).toBe(hostile)
  })
})

describe('the failure of a command', () => {
  it.each([
    ['payments-agent-nowhere', /^The command was not found\. .*PATH/],
    ['"$MCP_CONFIG"', /^The command exists but cannot be run: make it executable/],
    ['echo some; echo "no model key" >&2; exit 3', /exit code 3 instead of 0\. Its stderr: no model key$/],
    ['echo thinking >&2', /^The command printed no answer to stdout\. Its stderr: thinking$/],
    ['kill -9 $$', /^The command was killed by SIGKILL\.$/],
    ['echo "key ak_ntl_sandbox_1234567890abcdef" >&2; exit 1', /Its stderr: key ak_ntl_sandbox_\[masked\]$/],
  ])('the error explains the failure of the command “%s”', async (command, words) => {
    const failed = run(command)
    await expect(failed).rejects.toThrow(AgentError)
    await expect(failed).rejects.toThrow(words)
  })

  it('an error message contains only the end of a long stderr, without control characters', async () => {
    const text = "process.stderr.write('\\u001b[2J\\u0007' + 'x'.repeat(1e6) + ' the end'); process.exitCode = 1"
    const error = await run(script(text)).catch((thrown) => thrown)
    expect(error.message).toMatch(/x the end$/)
    expect(error.message).not.toMatch(/\p{Cc}/u)
    expect(error.message.length).toBeLessThan(600)
  })
})

describe('the processes of a command', () => {
  const patient = { timeout: 120_000 }
  /** A command that starts a background process. Both ignore SIGTERM. */
  const stubborn = `trap '' TERM; (trap '' TERM; sleep 300) & echo $! > "$TRIAL_FOLDER/pid"`
  const pid = () => {
    const file = join(input.folder, 'pid')
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  }

  it('all processes of a command are killed when the time of its trial is over', async () => {
    const controller = new AbortController()
    const running = commandAgent(`${stubborn}; sleep 300`, { ...options(), system: impatient }).run(
      input,
      controller.signal,
    )
    await vi.waitUntil(() => pid() > 0 && isAlive(pid()), patient)
    controller.abort(new Error('The time is over.'))
    await expect(running).rejects.toThrow('The time is over.')
    // A killed process may exist a moment longer, until the operating system removes it.
    await vi.waitUntil(() => !isAlive(pid()), patient)
  })

  it('background processes of a command are killed when the command has answered', async () => {
    const agent = commandAgent(`${stubborn}; echo Done.`, { ...options(), system: impatient })
    expect(await agent.run(input, signal)).toBe('Done.')
    await vi.waitUntil(() => !isAlive(pid()), patient)
  })

  it('a command is not started if its trial is already over', async () => {
    const running = commandAgent(stubborn, options()).run(input, AbortSignal.abort(new Error('Over.')))
    await expect(running).rejects.toThrow('Over.')
    expect(pid()).toBe(0)
  })

  it('all processes of a command are killed when the process that started the command exits', async () => {
    const module = fileURLToPath(new URL('../../src/rehearse/agents/process-group.ts', import.meta.url))
    const text = `
      import { ProcessGroups } from '${module}'
      const system = { sleep: () => Promise.resolve() }
      new ProcessGroups(system).run(process.env.COMMAND, { env: process.env }, new AbortController().signal)
      process.stdin.on('data', () => process.exit(1))`
    const env = { ...process.env, COMMAND: `${stubborn}; sleep 300`, TRIAL_FOLDER: input.folder }
    const rehearsing = spawn(process.execPath, ['--input-type=module', '-e', text], {
      env,
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    await vi.waitUntil(() => pid() > 0 && isAlive(pid()), patient)
    const exited = once(rehearsing, 'exit')
    rehearsing.stdin.write('end')
    await exited
    await vi.waitUntil(() => !isAlive(pid()), patient)
  })
})

/** Returns whether a process is running. A zombie does not count as running. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
