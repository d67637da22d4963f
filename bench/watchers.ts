import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { type RestServer, startRestServer } from './rest-server.ts'
import { inFlight, perSecond } from './sandbox.ts'
import { compare, type Row } from './table.ts'

const watchers = 100
const rounds = 4
const callsOfRound = 2_000
const callsInFlight = 32

/**
 * How much less a service gets done while a hundred browsers watch the run in which it happens. Each does what the script
 * of the console does: it hears its stream, and asks for what is new when the service says so, at the service's pace.
 */
export async function measureWatchers(directory: string): Promise<Row[]> {
  const server = await startRestServer(`sqlite:${join(directory, 'watchers.sqlite')}`, callsOfRound * (rounds + 1) * 2)
  const samples = { watched: [] as number[], alone: [] as number[] }
  let asked = 0
  try {
    for (let round = -1; round < rounds; round++) {
      const alone = await callsPerSecond(server)
      const crowd = await startWatching(server.origin)
      const watched = await callsPerSecond(server)
      const redraws = await crowd.end()
      if (round < 0) continue
      samples.alone.push(alone)
      samples.watched.push(watched)
      asked += redraws
    }
  } finally {
    await server.end()
  }
  // Watchers that were told nothing cost nothing.
  if (asked < watchers) throw new Error(`The watchers asked for ${asked} parts only.`)
  const measurement = `authorizations while ${watchers} browsers watch them, against nobody (${asked} redraws)`
  return [compare({ measurement, unit: '/s', ours: samples.watched, other: samples.alone, goal: { atLeast: 0.95 } })]
}

function callsPerSecond(server: RestServer): Promise<number> {
  const calls = Array.from({ length: callsOfRound })
  return perSecond(calls.length, () => inFlight(callsInFlight, calls, () => server.authorizeNext()))
}

/** Opens the page of the run that was called in last by so many browsers; ended, it tells how often they asked for a part. */
async function startWatching(origin: string) {
  const agent = new Agent({ connections: null, pipelining: 1, bodyTimeout: 0 })
  const cookie = await signIn(origin, agent)
  const page = await textAt(`${origin}/console`, { agent, cookie })
  const [, run] = /href="(\/console\/runs\/run_[0-9a-f]{32})"/.exec(page) ?? []
  if (run === undefined) throw new Error(`There is no run to watch:\n${page}`)
  const leaving = new AbortController()
  const watching = await Promise.all(
    Array.from({ length: watchers }, () => watch({ origin, agent, cookie, run, leaving: leaving.signal })),
  )
  return {
    end: async () => {
      leaving.abort()
      const counts = await Promise.all(watching.map((one) => one.ended))
      await agent.destroy()
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}

interface Browser {
  origin: string
  agent: Agent
  cookie: string
  run: string
  leaving: AbortSignal
}

/** Resolves when its stream is open. */
async function watch({ origin, agent, cookie, run, leaving }: Browser): Promise<{ ended: Promise<number> }> {
  const topic = `run:${run.split('/').at(-1)}`
  const { statusCode, body } = await agent.request({
    ...{ origin, path: `/console/stream?topic=${topic}`, method: 'GET', headers: { cookie }, signal: leaving },
  })
  if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`)
  let [asked, newest, isAsking, text] = [0, '', false, '']
  const refresh = async (inMs: number) => {
    if (isAsking) return
    isAsking = true
    await sleep(Math.random() * inMs)
    isAsking = false
    const part = await textAt(`${origin}${run}?fragment=1&after=${newest}`, { agent, cookie })
    newest = /ent_[0-9a-f]{32}/.exec(part)?.[0] ?? newest
    asked += 1
  }
  const ended = (async () => {
    const redraws: Promise<void>[] = []
    try {
      for await (const chunk of body) {
        text += String(chunk)
        const messages = text.split('\n\n')
        text = messages.pop() ?? ''
        for (const message of messages) {
          const [, data] = /^event: changed\ndata: (.*)$/m.exec(message) ?? []
          if (data !== undefined) redraws.push(refresh(JSON.parse(data).inMs))
        }
      }
    } catch (error) {
      if (!leaving.aborted) throw error
    }
    await Promise.all(redraws)
    return asked
  })()
  // Whoever ends the watching is told of what failed; until then it is not unhandled.
  ended.catch(() => {})
  return { ended }
}

/** Signs in as the sandbox's owner by the one click that its own machine has. */
async function signIn(origin: string, agent: Agent): Promise<string> {
  const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams({ next: '/console', as: 'owner' }).toString()
  const answer = await agent.request({ origin, path: '/sign-in', method: 'POST', headers, body })
  await answer.body.dump()
  const cookies = [answer.headers['set-cookie'] ?? []].flat()
  return cookies.map((line) => line.split(';')[0]).join('; ')
}

async function textAt(address: string, { agent, cookie }: { agent: Agent; cookie: string }): Promise<string> {
  const { origin, pathname, search } = new URL(address)
  const answer = await agent.request({ origin, path: pathname + search, method: 'GET', headers: { cookie } })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`)
  return text
}
