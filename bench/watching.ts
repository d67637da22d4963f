import { setTimeout } from 'node:timers/promises'
import { Agent } from 'undici'
import { signIn } from './console-visit.ts'

/*
 * Browsers that watch a page of the console: `watching.ts ORIGIN COUNT PAGE`, where `run` is the one that was called in
 * last. They do what the page's script does: they read what their streams show, ask for what these only name, and throw it
 * away. It says `watching` to its parent, and told to leave, how many times they were told of a part.
 */

const [, , origin = '', count = '', page = ''] = process.argv
const agent = new Agent({ connections: null, pipelining: 1, bodyTimeout: 0 })
const cookie = await signIn(origin)
const parts = partsOf(await textAt(page === 'run' ? await runPath() : page))
let told = 0
await Promise.all(Array.from({ length: Number(count) }, watch))
process.once('message', () => process.send?.(told, () => process.exit()))
process.send?.('watching')

interface Part {
  topic: string
  source: string
  /** The one that the page shows when it is opened. */
  version: string | undefined
}

/** The parts of a page that are drawn anew. */
function partsOf(text: string): Part[] {
  const marked = [...text.matchAll(/data-live="([^"]*)" data-(?:source|newer)="([^"]*)"(?: data-version="([^"]*)")?/g)]
  if (marked.length === 0) throw new Error(`Nothing of the page is live:\n${text}`)
  return marked.map(([, topic = '', source = '', version]) => ({
    topic,
    source: source.replaceAll('&amp;', '&'),
    version,
  }))
}

async function runPath(): Promise<string> {
  const text = await textAt('/console')
  const [, path] = /href="(\/console\/runs\/run_[0-9a-f]{32})"/.exec(text) ?? []
  if (path === undefined) throw new Error(`There is no run to watch:\n${text}`)
  return path
}

/** Resolves when its stream is open. */
async function watch(): Promise<void> {
  const topics = new URLSearchParams(parts.map(({ topic }): [string, string] => ['topic', topic]))
  const { statusCode, body } = await get(`/console/stream?${topics}`)
  if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`)
  const page: Page = { stale: new Set(), versions: new Map(parts.map((part) => [part, part.version])) }
  let rest = ''
  body.on('data', (chunk: Buffer) => {
    const messages = (rest + chunk).split('\n\n')
    rest = messages.pop() ?? ''
    for (const message of messages) {
      const [, data] = /^event: changed\ndata: (.*)$/m.exec(message) ?? []
      if (data !== undefined) read(JSON.parse(data), page)
    }
  })
}

/** What a page remembers. */
interface Page {
  stale: Set<Part>
  versions: Map<Part, string | undefined>
}

interface Told {
  topics: readonly string[]
  inMs: number
  drawn: readonly { source: string; version?: string }[]
}

function read({ topics, inMs, drawn }: Told, page: Page): void {
  const { stale, versions } = page
  for (const part of parts) {
    if (!topics.includes(part.topic)) continue
    const one = drawn.find(({ source }) => source === part.source)
    told += 1
    if (one !== undefined && (one.version === undefined || one.version === versions.get(part))) continue
    if (!stale.has(part)) void ask(part, inMs, page)
  }
}

async function ask(part: Part, inMs: number, { stale, versions }: Page): Promise<void> {
  stale.add(part)
  await setTimeout(Math.random() * inMs)
  stale.delete(part)
  const { headers } = await answerAt(part.source)
  const version = headers['part-version']
  versions.set(part, typeof version === 'string' ? version : undefined)
}

function get(path: string) {
  return agent.request({ origin, path, method: 'GET', headers: { cookie } })
}

async function textAt(path: string): Promise<string> {
  return (await answerAt(path)).text
}

async function answerAt(path: string) {
  const { statusCode, headers, body } = await get(path)
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${statusCode} ${text}`)
  return { headers, text }
}
