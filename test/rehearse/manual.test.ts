import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { AgentError } from '../../src/rehearse/agent.ts'
import { manualAgent } from '../../src/rehearse/agents/manual.ts'
import { agentInput } from './agent-input.ts'
import { ownStart } from './own-start.ts'

/** Returns a manual agent, with the streams that stand for the person's terminal. */
function openTerminal() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const agent = manualAgent({ input, output, start: ownStart })
  const run = async (task: string, signal = new AbortController().signal) => {
    using input = agentInput(task)
    return await agent.run(input, signal)
  }
  return { agent, run, input, output }
}

describe('an agent that a person runs elsewhere', () => {
  it('the person gets the task, the MCP server, the API key, a config file and the URL of the shops', async () => {
    const { agent, run, input, output } = openTerminal()
    input.end('Bought it.\n\n')
    expect(await run('Buy a book.\nAt most 40 dollars.')).toBe('Bought it.')
    output.end()
    const outputText = await text(output)
    expect(outputText).toContain('  Buy a book.\n  At most 40 dollars.\n')
    expect(outputText).toContain('http://127.0.0.1:9/mcp')
    expect(outputText).toContain('Authorization: Bearer ak_ntl_sandbox_key-of-the-trial-00')
    expect(outputText).toMatch(/Config file {2}\S+\.mcp\.json\n/)
    expect(outputText).toContain('http://127.0.0.1:9/shops')
    expect(agent.byPerson).toBe(true)
  })

  it('an empty line ends the answer to a trial, and the end of the input ends the last answer', async () => {
    const { run, input } = openTerminal()
    input.write('First line\r\nsecond line  \n \nThe second')
    expect(await run('One')).toBe('First line\nsecond line')
    const second = run('Two')
    input.write(' answer\n')
    input.write('\n')
    expect(await second).toBe('The second answer')
    input.end('The last')
    expect(await run('Three')).toBe('The last')
    await expect(run('Four')).rejects.toThrow(AgentError)
    await expect(run('Five')).rejects.toThrow(/input ended without an answer/)
  })

  it('an empty line alone is an empty answer', async () => {
    const { run, input } = openTerminal()
    input.write('\n')
    expect(await run('One')).toBe('')
  })

  it('an interruption of the rehearsal ends the wait for an answer', async () => {
    const { run } = openTerminal()
    const ending = new AbortController()
    const waiting = run('One', ending.signal)
    ending.abort(new Error('Ctrl+C'))
    await expect(waiting).rejects.toThrow('Ctrl+C')
  })
})
