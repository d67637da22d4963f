import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { sqlite } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
let listener: Listener

beforeAll(async () => {
  world = await createWorld(sqlite)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const { fetch } = world.service
  listener = await listen({ fetch, host: '127.0.0.1', port: await freePort(), system: realSystem, log })
})
afterAll(async () => {
  await listener.close()
  await world.drop()
})

/**
 * Returns the shell blocks below a heading of a document. Replaces the address and the agent key in the blocks with
 * those of this test.
 */
function blocksOf(path: string, heading: string): string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const section = text.split(/^#{2,4} /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) =>
    block.replaceAll('http://127.0.0.1:4010', listener.url).replaceAll('ak_ntl_sandbox_…', String(world.agentKey)),
  )
}

/**
 * Runs the requests of a block in order, and returns the answers. Replaces each `…` with a value from earlier answers.
 */
async function follow(block: string, definitions = ''): Promise<Record<string, unknown>[]> {
  const helper = /^call\(\) \{[\s\S]*?^\}\n/m.exec(block)?.[0] ?? ''
  const lines = block.replace(helper, '').replaceAll('\\\n', ' ').trim().split('\n')
  const answers: Record<string, unknown>[] = []
  let script = helper + definitions
  for (const line of lines) {
    const answersText = JSON.stringify(answers)
    const filled = line
      .replace(/\b([a-z]{3}_)…/g, (_, prefix) => answersText.match(new RegExp(`${prefix}[0-9a-f]+`, 'g'))?.at(-1) ?? '')
      .replace(/"(number|cvv|expiration\w+)": ("?)…"?/g, (_, field, quote) => {
        return `"${field}": ${quote}${new RegExp(`"${field}":"?(\\w+)`).exec(answersText)?.[1]}${quote}`
      })
    if (/^\w+=/.test(filled)) script += `${filled}\n`
    else answers.push(JSON.parse((await promisify(execFile)('bash', ['-c', `${script}${filled}`])).stdout))
  }
  return answers
}

test('the curl requests in docs/sandbox.md make the described purchase, and reset the sandbox', async () => {
  const [block = ''] = blocksOf('docs/sandbox.md', 'With curl')
  const answers = await follow(block)
  expect(answers).toHaveLength(6)
  expect(answers.filter((answer) => 'errors' in answer)).toEqual([])
  expect(answers[4]).toMatchObject({ data: { type: 'cardTransaction', attributes: { status: 'captured' } } })
  const definitions = `${/^KEY=.*\n/m.exec(block)?.[0]}${/^call\(\) \{[\s\S]*?^\}\n/m.exec(block)?.[0]}`
  const [reset = ''] = blocksOf('docs/sandbox.md', 'Reset, save, restore')
  expect(await follow(reset, definitions)).toMatchObject([{ data: {} }])
})

test('the requests in docs/shops.md make the described purchase', async () => {
  const [block = ''] = blocksOf('docs/shops.md', 'Buying')
  const answers = await follow(block)
  expect(answers).toHaveLength(6)
  expect(answers.filter((answer) => 'errors' in answer)).toEqual([])
  expect(answers[4]).toMatchObject({ data: { attributes: { status: 'paid' } } })
})
