import { describe, expect, it } from 'vitest'
import type { Caller, Target } from '../../src/simulate/world.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { type Fault, localTarget, simulateInProcess } from './in-process.ts'

const small = { agents: 2, purchases: 2 }

/** Returns a target whose agents make their tool calls through `call`. */
function targetWith(
  call: (caller: Caller, ...parameters: Parameters<Caller['call']>) => ReturnType<Caller['call']>,
): Target {
  const { isolated, open } = localTarget()
  const opened = async () => {
    const world = await open()
    const connect = async (agent: number) => {
      const caller = await world.connect(agent)
      return { ...caller, call: (...parameters: Parameters<Caller['call']>) => call(caller, ...parameters) }
    }
    return { ...world, connect }
  }
  return { isolated, open: opened }
}

describe('the content of a report', () => {
  it('a report shows how long the start, the calls and the final check took, in seconds and percent', async () => {
    const system = fakeSystem()
    const spent = { start: 2_000, calls: 5_000, 'final check': 3_000, shortening: 0 }
    const onStage = (stage: keyof typeof spent) => system.pass(spent[stage])
    const { report, summary } = await simulateInProcess({ ...small, system, onStage })
    expect(report).toContain('\ntime     10.0 s: start 2.0 s (20 %), calls 5.0 s (50 %), final check 3.0 s (30 %)\n')
    expect(summary.seconds).toEqual({ start: 2, calls: 5, finalCheck: 3, total: 10 })
  })

  it('the summary contains the figures of the report', async () => {
    const { report, summary, log } = await simulateInProcess(small)
    expect(summary).toMatchObject({
      ...small,
      result: 'as predicted',
      actions: log.length,
      concurrency: 1,
      failure: null,
    })
    expect(report).toContain(summary.logSha256)
    const counts = Object.values(summary.outcomes).flatMap((byOutcome) => Object.values(byOutcome))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(log.length)
  })
})

describe('the report of a failed or interrupted simulation', () => {
  /** Makes the service report a wrong amount for each capture. */
  const wrongCaptures: Fault = (fetch) => async (request) => {
    const response = await fetch(request)
    if (!request.url.endsWith('/capture')) return response
    return new Response((await response.text()).replace(/"captured":(\d+)/, '"captured":1$1'), response)
  }
  const many = { agents: 3, purchases: 15 }

  it('the report shows the failure even if shortening the history is interrupted', async () => {
    const controller = new AbortController()
    const tries: number[] = []
    let stage = ''
    const { exitCode, report, summary } = await simulateInProcess({
      ...many,
      target: localTarget(wrongCaptures),
      signal: controller.signal,
      onStage: (begun) => {
        stage = begun
      },
      onStep: (done) => {
        if (stage === 'shortening') tries.push(done)
        if (tries.length === 2) controller.abort()
      },
    })
    expect(tries).toEqual([1, 2])
    expect(exitCode).toBe(1)
    expect(report).toMatch(/FAILED after[\s\S]*\n {2} 1\. agent-[\s\S]*\nexpected .*\nactual /)
    expect(summary.failure).toMatchObject({ again: 'yes' })
  })

  it('the report is returned even if the simulation is interrupted while a server does not answer', async () => {
    const controller = new AbortController()
    let calls = 0
    let cut = () => {}
    const target = targetWith((caller, ...parameters) => {
      if (++calls < 12) return caller.call(...parameters)
      const { promise, reject } = Promise.withResolvers<never>()
      cut = () => reject(new Error('Connection closed'))
      controller.abort()
      return promise
    })
    const closing: Target = {
      ...target,
      open: async () => {
        const world = await target.open()
        const connect = async (agent: number) => {
          const caller = await world.connect(agent)
          const close = async () => {
            cut()
            await caller.close()
          }
          return { ...caller, close }
        }
        return { ...world, connect }
      },
    }
    const { exitCode, report } = await simulateInProcess({ target: closing, signal: controller.signal })
    expect(report).toMatch(/interrupted after \d actions; their answers were as predicted/)
    expect(exitCode).toBe(130)
  })

  it('the report shows that a server could not be started', async () => {
    const open = async () => ({
      connect: () => Promise.reject(new Error('Connection closed')),
      close: () => Promise.reject(new Error('it is gone')),
    })
    const { exitCode, report } = await simulateInProcess({ target: { isolated: true, open } })
    expect(report).toMatch(
      /FAILED after 0 actions\n[\s\S]*The run failed before its first action\.\n\nThe agents could not be connected\.\n.*\nactual {4}no answer: Connection closed/,
    )
    expect(report).not.toContain('all records are read again')
    expect(exitCode).toBe(1)
  })

  it('the report shows that a connection was closed', async () => {
    const target = targetWith(async (caller, tool, input) => {
      if (tool === 'issue_agent_card') await caller.close()
      return caller.call(tool, input)
    })
    const { exitCode, report } = await simulateInProcess({ target, ...small })
    expect(report).toMatch(/FAILED after 1 actions[\s\S]* 1\. agent-1 issue_agent_card[\s\S]*\nactual {4}no answer: /)
    expect(exitCode).toBe(1)
  })

  it('the report shows that an answer could not be read', async () => {
    const unreadable = {
      get data() {
        throw new RangeError('no such data')
      },
    }
    const target = targetWith(async (caller, tool, input) => {
      const answer = await caller.call(tool, input)
      return tool === 'issue_agent_card' ? { isError: false, content: unreadable } : answer
    })
    const { exitCode, report } = await simulateInProcess({ target, ...small })
    expect(report).toMatch(
      /FAILED after 1 actions[\s\S]*issue_agent_card[\s\S]*The answer could not be compared\.\n.*\nactual +RangeError: no such data/,
    )
    expect(exitCode).toBe(1)
  })
})
