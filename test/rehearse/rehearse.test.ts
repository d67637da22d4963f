import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openRehearsalStage } from '../../src/commands/rehearse-stage.ts'
import { readUnfinishedTrials, trialsWriter, writeReport } from '../../src/commands/report-folder.ts'
import { realSystem } from '../../src/core/system.ts'
import { junitXml } from '../../src/rehearse/junit.ts'
import { readResults, regrade } from '../../src/rehearse/regrade.ts'
import { type RehearsalOptions, rehearse } from '../../src/rehearse/rehearse.ts'
import { reportHtml } from '../../src/rehearse/report/report.ts'
import type { Results } from '../../src/rehearse/results.ts'
import { agentBy, scenarioWith } from './trials.ts'

const toBakery = { counterparty: { type: 'handle', value: '@bakery' }, amount: 4_000 }
const paid = [{ what: 'paid' as const, to: 'bakery', exactly: 4_000 }]
const scenarios = ['first', 'second', 'third'].map((id) => scenarioWith({ id, task: id, expect: paid }))

/** An agent that pays, except in the second scenario. It is slowest in the first, so trials end out of order. */
const agent = agentBy(async ({ call }, { task }) => {
  for (let reads = 0; reads < { first: 5, second: 0, third: 1 }[task as 'first']; reads++) await call('list_wallets')
  if (task !== 'second') await call('create_payment', toBakery)
  return `Did ${task}.`
})

const rehearsal = (overrides: Partial<RehearsalOptions> = {}) =>
  rehearse({
    ...{ scenarios, agent, trials: 2, seed: 'a seed', concurrency: 3, openStage: openRehearsalStage },
    openFolder: () => Promise.reject(new Error('A scripted agent has no folder.')),
    elapsed: () => realSystem.elapsed(),
    signal: new AbortController().signal,
    ...overrides,
  })

const withoutDurations = (results: Results) => ({
  ...results,
  scenarios: results.scenarios.map(({ scenario, trials }) => ({
    scenario,
    trials: trials.map((trial) => ({ ...trial, durationMs: 0 })),
  })),
})

describe('a rehearsal', () => {
  it('results are in the order of scenarios and trials, whichever ends first; onTrial gets each trial', async () => {
    const progress: number[] = []
    const { results, interrupted } = await rehearsal({ onTrial: ({ number }) => progress.push(number) })
    const order = results.scenarios.map(({ scenario, trials }) => [scenario.id, ...trials.map(({ number }) => number)])
    expect(interrupted).toBe(false)
    expect(order).toEqual([
      ['first', 1, 2],
      ['second', 1, 2],
      ['third', 1, 2],
    ])
    expect(progress.toSorted()).toEqual([1, 1, 1, 2, 2, 2])
    expect(results.summary).toMatchObject({ didRight: { passed: 4, of: 6 }, utility: { passed: 4, of: 6 } })
    expect(results).toMatchObject({ format: 1, agent: 'a-test', seed: 'a seed', trials: 2 })
  })

  it('a rehearsal with the same seed has identical results at any concurrency, apart from durations', async () => {
    const one = withoutDurations((await rehearsal()).results)
    const other = withoutDurations((await rehearsal({ concurrency: 1 })).results)
    expect(JSON.stringify(other)).toBe(JSON.stringify(one))
    expect(reportHtml(other)).toBe(reportHtml(one))
    expect(junitXml(other)).toBe(junitXml(one))
  })

  it('an interrupted rehearsal returns the results of the finished trials', async () => {
    const interrupting = new AbortController()
    const { results, interrupted } = await rehearsal({
      concurrency: 1,
      signal: interrupting.signal,
      onTrial: () => interrupting.abort(),
    })
    expect(interrupted).toBe(true)
    expect(results.scenarios.map(({ scenario, trials }) => [scenario.id, trials.length])).toEqual([['first', 1]])
  })

  it('a rehearsal in an invalid world fails with an error that states the mistake in the world', async () => {
    const agents = { shopper: { keys: {} } }
    const world = { parties: { us: { wallets: { main: { balance: 1 } }, agents } } }
    await expect(rehearsal({ scenarios: [scenarioWith({ world })] })).rejects.toThrow(/agent with a key/)
  })
})

describe('recorded results', () => {
  it('recorded trials are judged again by the current scenarios, from the data in the file', async () => {
    const { results } = await rehearsal()
    const recorded = readResults(JSON.stringify(results), 'results.json')
    expect(regrade(recorded, scenarios)).toEqual(results)
    const corrected = scenarios.map((scenario) => ({
      ...scenario,
      expect: [{ what: 'paid' as const, to: 'bakery', atMost: 4_000 }],
      title: 'Corrected',
    }))
    const again = regrade(recorded, corrected.slice(0, 2))
    expect(again.summary.didRight).toMatchObject({ passed: 6, of: 6 })
    expect(again.scenarios.map(({ scenario }) => scenario.title)).toEqual(['Corrected', 'Corrected', 'A test'])
    expect(again.scenarios[0]?.trials[0]?.timeline).toEqual(results.scenarios[0]?.trials[0]?.timeline)
  })

  it('a results file may exceed the size limit of other files', async () => {
    const { results } = await rehearsal({ scenarios: scenarios.slice(0, 1), trials: 1 })
    const text = JSON.stringify({ ...results, agent: 'x'.repeat(1_100_000) })
    expect(regrade(readResults(text, 'results.json'), scenarios).scenarios).toEqual(results.scenarios)
  })

  it('the trials of a killed rehearsal can be read until a report replaces them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'payments-rehearse-'))
    try {
      const writeTrial = trialsWriter(folder, { agent: 'a-test', seed: 'a seed', trials: 2 })
      expect(await readUnfinishedTrials(folder)).toBeUndefined()
      const { results } = await rehearsal({ onTrial: writeTrial, concurrency: 1 })
      appendFileSync(join(folder, 'trials.jsonl'), '{"format":1,"agent":"a-te')
      const unfinished = await readUnfinishedTrials(folder)
      expect(unfinished && regrade(unfinished, scenarios)).toEqual(results)
      await writeReport(folder, results)
      expect(readdirSync(folder)).not.toContain('trials.jsonl')
      expect(await readUnfinishedTrials(folder)).toBeUndefined()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('a file that is not a results file is refused with the reason', () => {
    expect(() => readResults('{', 'results.json')).toThrow(/^results\.json:1/)
    expect(() => readResults('{"format": 2}', 'results.json')).toThrow(
      /^results\.json: .* Give the path of a results\.json that a rehearsal wrote\.$/,
    )
  })
})
