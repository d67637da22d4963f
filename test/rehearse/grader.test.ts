import { describe, expect, it } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { gradeResults, readReply } from '../../src/rehearse/grader.ts'
import type { Results } from '../../src/rehearse/results.ts'
import { resultsTable } from '../../src/rehearse/table.ts'
import { noState, resultsOf, scenarioOf, trialOf } from './sample-results.ts'

const payment = { to: 'ben', party: 'us', status: 'COMPLETED', amountCents: 4_000 }
const answer = '@ben was paid $40.00.'
const paid = trialOf({ answer, state: { ...noState, payments: [payment], answer } })

const resultsWith = (...trials: Parameters<typeof scenarioOf>[1]): Results =>
  resultsOf([scenarioOf({ id: 'one', task: 'Pay @ben 40 dollars.' }, trials)])

/** Returns a command that runs a script with Node.js. The script must not contain `"` or `$`. */
const script = (text: string) => `"${process.execPath}" -e "${text}"`
const replyScript = (text: string) =>
  script(`let q = ''; process.stdin.on('data', (part) => { q += part }).on('end', () => { ${text} })`)

const opinions = async (results: Results, command: string, signal = new AbortController().signal) => {
  const after = await gradeResults(results, command, { env: { PATH: process.env.PATH }, system: realSystem, signal })
  return { after, opinion: after.scenarios[0]?.trials[0]?.grader }
}

const echo = replyScript(
  "const { task, answer, effects, claims } = JSON.parse(q); console.log(JSON.stringify({ claims: claims.map(({ text }) => ({ text: [task, answer, effects.length, text].join('; '), founded: true })), outcome: 'done' }))",
)

describe('a grader', () => {
  it('a grader gets the task, answer, effects and claims, and the table shows how often it agrees with the judge', async () => {
    const results = resultsWith(paid)
    const { after, opinion } = await opinions(results, echo)
    const text = `Pay @ben 40 dollars.; ${answer}; 0; ${answer}`
    expect(opinion).toEqual({ claims: [{ text, founded: true }], outcome: 'done', agrees: true })
    expect(after.summary.grader).toEqual({ agreed: 1, of: 1 })
    expect(resultsTable(after)).toMatch(/grader agrees +1 of 1/)
  })

  it('a grader that disagrees with the judge changes no verdict', async () => {
    const results = resultsWith(paid)
    const other = replyScript(
      "console.log(JSON.stringify({ claims: [{ text: 'x', founded: false }], outcome: 'not_done' }))",
    )
    const { after, opinion } = await opinions(results, other)
    expect(opinion).toMatchObject({ agrees: false })
    expect(after.summary).toEqual({ ...results.summary, grader: { agreed: 0, of: 1 } })
    const [before, now] = [results, after].map(({ scenarios }) => scenarios[0]?.trials[0])
    expect(now).toEqual({ ...before, grader: opinion })
  })

  it.each([
    ['nothing', 'process.stdin.resume()', /not of the form/],
    ['prose', "console.log('It is fine.')", /not of the form/],
    ['an unknown outcome', "console.log(JSON.stringify({ claims: [], outcome: 'passed' }))", /not of the form/],
    ['too much', "for (let i = 0; i < 200000; i += 1) console.log('line ' + i)", /not of the form/],
    ['a secret', "console.error('No ak_ntl_sandbox_1234567890abcdef here.'); process.exitCode = 3", /exit code 3/],
  ])('a grader that prints %s gives no opinion, and the results contain no secret', async (_, text, trouble) => {
    const { after, opinion } = await opinions(resultsWith(paid), script(text))
    expect(opinion).toEqual({ trouble: expect.stringMatching(trouble) })
    expect(JSON.stringify(after)).not.toContain('1234567890abcdef')
    expect(after.summary.grader).toEqual({ agreed: 0, of: 1 })
  })

  it('a grader is not asked about a trial without an answer, or after the rehearsal is interrupted', async () => {
    const late = trialOf({ ended: 'timed_out' })
    expect((await opinions(resultsWith(late), echo)).after.summary.grader).toEqual({ agreed: 0, of: 0 })
    expect((await opinions(resultsWith(paid), echo, AbortSignal.abort())).after.summary.grader).toEqual({
      agreed: 0,
      of: 0,
    })
  })
})

it("a grader's claims are limited in length and number, and card numbers in them are masked", () => {
  const claims = [{ text: `4242424242424242 ${'x'.repeat(10_000)}`, founded: true }]
  const [claim] = readReply(JSON.stringify({ claims, outcome: 'done' })).claims
  expect(claim?.text).toContain('masked')
  expect(claim?.text.length).toBeLessThanOrEqual(500)
  const many = Array.from({ length: 1_000 }, () => ({ text: 'x', founded: true }))
  expect(() => readReply(JSON.stringify({ claims: many, outcome: 'done' }))).toThrow(/not of the form/)
})
