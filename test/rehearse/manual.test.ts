import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { AgentError } from '../../src/rehearse/agent.ts'
import { manualAgent } from '../../src/rehearse/agents/manual.ts'
import { agentInput } from './agent-input.ts'
import { ownStart } from './own-start.ts'

/** Returns a person at a terminal, or a file in their place. */
function person() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const agent = manualAgent({ input, output, start: ownStart })
  const run = async (task: string, signal = new AbortController().signal) => {
    using input = agentInput(task)
    return await agent.run(input, signal)
  }
  return { agent, run, input, output }
}

describe('an agent that a person runs elsewhere', () => {
  it('gets the task, the address, the key, a configuration and the shops', async () => {
    const { agent, run, input, output } = person()
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

  it('answers one trial after the other: an empty line ends an answer, and the end of the input ends the last one', async () => {
    const { run, input } = person()
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

  it('may answer nothing', async () => {
    const { run, input } = person()
    input.write('\n')
    expect(await run('One')).toBe('')
  })

  it('is waited for no longer than the rehearsal lasts', async () => {
    const { run } = person()
    const ending = new AbortController()
    const waiting = run('One', ending.signal)
    ending.abort(new Error('Ctrl+C'))
    await expect(waiting).rejects.toThrow('Ctrl+C')
  })
})
