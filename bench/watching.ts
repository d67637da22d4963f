import { Agent } from 'undici'

/*
 * Browsers that watch the run that was called in last: `watching.ts ORIGIN COUNT`. They read what their streams tell and
 * throw it away. It says `watching` to its parent, and told to leave, how many times they were shown something.
 */

const [, , origin = '', count = ''] = process.argv
const agent = new Agent({ connections: null, pipelining: 1, bodyTimeout: 0 })
const cookie = await signIn()
const page = await textAt('/console')
const [, run] = /href="\/console\/runs\/(run_[0-9a-f]{32})"/.exec(page) ?? []
if (run === undefined) throw new Error(`There is no run to watch:\n${page}`)
let told = 0
await Promise.all(Array.from({ length: Number(count) }, () => watch(`/console/stream?topic=run:${run}`)))
process.once('message', () => process.send?.(told, () => process.exit()))
process.send?.('watching')

/** Resolves when its stream is open. */
async function watch(path: string): Promise<void> {
  const { statusCode, body } = await agent.request({ origin, path, method: 'GET', headers: { cookie } })
  if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`)
  body.on('data', (chunk: Buffer) => {
    if (chunk.includes('"html":')) told += 1
  })
}

/** Signs in as the sandbox's owner by the one click that its own machine has. */
async function signIn(): Promise<string> {
  const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams({ next: '/console', as: 'owner' }).toString()
  const answer = await agent.request({ origin, path: '/sign-in', method: 'POST', headers, body })
  await answer.body.dump()
  const cookies = [answer.headers['set-cookie'] ?? []].flat()
  return cookies.map((line) => line.split(';')[0]).join('; ')
}

async function textAt(path: string): Promise<string> {
  const answer = await agent.request({ origin, path, method: 'GET', headers: { cookie } })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`)
  return text
}
