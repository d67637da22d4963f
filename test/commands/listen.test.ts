import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { type EventResource, followEvents } from '../../src/client/follow-events.ts'
import { created, payer } from '../payments/payer.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { addParty, createWorld, type World } from '../support/world.ts'

const cli = await runResource('cli')

interface CommandResult {
  status: number | null
  stdout: string
  stderr: string
}

/** Control sequences that would change the color and the title of a terminal. */
const escapes = '\u001b[31m\u001b]0;title\u0007\u009b31m'

const event = {
  type: 'event',
  id: `evt_${escapes}`,
  attributes: { eventType: escapes, resourceId: escapes, resourceType: 'x', createdAt: 'now', payload: { escapes } },
}

/** Runs `listen` on a new in-memory sandbox. A new sandbox already has events about wallets, grants and more. */
const listen = (...args: string[]) => listenWith({ PAYMENTS_DATABASE_URL: 'sqlite::memory:' }, ...args)

function listenWith(extraEnv: Record<string, string>, ...args: string[]): Promise<CommandResult> {
  const env = { ...process.env, ...extraEnv }
  const child = spawn(process.execPath, [cli, 'listen', ...args], { env })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += String(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += String(chunk)
  })
  return new Promise((resolve) => child.once('close', (status) => resolve({ status, ...output })))
}

test('listen forwards events signed like webhooks, retries failures, and finally prints how to continue', async () => {
  const received: { headers: Record<string, string>; body: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(chunks).toString() })
      // The first attempt gets an error, so the command must send the event again.
      response.writeHead(received.length === 1 ? 503 : 204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  try {
    const target = `${url}?token=receiver-secret`
    const { status, stdout, stderr } = await listen(
      '--forward-to',
      target,
      '--since',
      'oldest',
      '--count',
      '1',
      '--json',
    )
    expect(status, stderr).toBe(0)
    const source = 'the embedded sandbox in sqlite::memory:, starting with the oldest'
    const start = `payments-mcp: Ready. Following all events from ${source}; forwarding to ${url}, signed with the secret whsec_`
    expect(stderr.slice(0, start.length)).toBe(start)
    expect(stderr).not.toContain('receiver-secret')
    const printed = stdout.trim().split('\n')
    expect(received.map(({ body }) => body)).toEqual([printed[0], printed[0]])
    const [secret = ''] = /whsec_\S+/.exec(stderr) ?? []
    for (const { body, headers } of received) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    }
    expect(stderr).toContain(`Events printed: 1. To continue, use --since ${JSON.parse(printed[0] ?? '').id}.`)
  } finally {
    server.close()
  }
})

test.each(
  sampleOf(
    [
      [
        'an error response',
        400,
        { errors: [{ code: 'x', status: '400', detail: `No.${escapes}`, meta: { supportId: escapes } }] },
      ],
      ['an event', 200, { data: [event], meta: { pagination: { nextCursor: null } } }],
    ] as const,
    2,
  ),
)('%s from a malicious service cannot control the terminal', async (_, status, answer) => {
  let requestCount = 0
  const server = createServer((_request, response) => {
    requestCount += 1
    const isFirst = requestCount === 1 && status === 200
    const body = isFirst ? { data: [], meta: { pagination: { nextCursor: null } } } : answer
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PAYMENTS_BASE_URL: url, PAYMENTS_KEY: 'sk_ntl_sandbox_0123456789abcdef0123456789' }
  try {
    for (const form of [[], ['--json']]) {
      requestCount = 0
      const { stdout, stderr } = await listenWith(env, '--count', '1', ...form)
      expect(`${stdout}${stderr}`).toMatch(status === 400 ? /No\./ : /evt_/)
      expect(stdout + stderr).not.toMatch(/[^\n\P{Cc}]/u)
      expect(stderr.split('\n')[0]).toBe(
        `payments-mcp: Ready. Following all events from ${url}, starting now; without --forward-to, events are only printed`,
      )
    }
  } finally {
    server.close()
  }
})

const unknownEvent = 'evt_00000000000000000000000000000000'

test.each(
  sampleOf(
    [
      [
        ['--forward-to', 'http://example.com/hooks'],
        2,
        '--forward-to got "http://example.com/hooks"; it accepts an https',
      ],
      [['--count', '0'], 2, '--count got "0"; it accepts an integer from 1 to 999999.'],
      [['--since', unknownEvent], 1, 'There is no event evt_'],
    ] as const,
    3,
    1,
  ),
)('with the arguments %j, listen ends with a one-line message', async (args, exitCode, line) => {
  const { status, stdout, stderr } = await listen(...args)
  expect({ status, stdout }).toEqual({ status: exitCode, stdout: '' })
  const lines = stderr.trim().split('\n')
  expect(lines.pop()).toContain(line)
  // If the exit code is 1, the command failed only after it had printed which events it follows.
  expect(lines).toEqual(exitCode === 2 ? [] : [expect.stringContaining(`after ${unknownEvent}; without --forward-to`)])
})

onEachDatabase('following events', (database) => {
  let world: World
  let recipientId: string
  beforeAll(async () => {
    world = await createWorld(database)
    recipientId = (await addParty(world)).partyId
  })
  afterAll(() => world.drop())

  const pay = async () => created(await payer(world).pay(1, { type: 'party_id', value: recipientId }))

  test('every new event, or every event after a given one, is yielded once and in order, despite outages', async () => {
    let isDown = false
    const client = createClient({
      fetch: (request) => (isDown ? Response.json({}, { status: 502 }) : world.service.fetch(request)),
      baseUrl: 'http://sandbox.test',
      credential: () => world.apiKey,
      instanceId: 'listening',
      system: world.system,
    })
    const paid: string[] = []
    const errors: unknown[] = []
    const follow = (since?: string) =>
      followEvents({
        client,
        // During each pause between polls, two payments are made, and an outage sometimes begins or ends.
        system: {
          sleep: async () => {
            paid.push(await pay(), await pay())
            isDown = !isDown && paid.length % 4 === 0
          },
        },
        since,
        signal: new AbortController().signal,
        onTrouble: (error) => errors.push(error),
      })
    const take = async (count: number, since?: string) => {
      const events: EventResource[] = []
      for await (const event of follow(since)) if (events.push(event) === count) break
      return events
    }
    const events = await take(110)
    const followed = events.map(({ attributes }) => `${attributes.eventType} ${attributes.resourceId}`)
    const expected = paid.flatMap((id) => [`payment.created ${id}`, `payment.completed ${id}`])
    expect(followed).toEqual(expected.slice(0, 110))
    expect(errors.length).toBeGreaterThan(5)
    isDown = false
    const again = (await take(105, events[4]?.id)).map(({ id }) => id)
    expect(again).toEqual(events.slice(5).map(({ id }) => id))
  })
})

test('following events with an unknown credential fails with status 401', async () => {
  const world = await createWorld(sqlite)
  const client = createClient({
    fetch: (request) => world.service.fetch(request),
    baseUrl: 'http://sandbox.test',
    credential: () => 'sk_ntl_sandbox_0123456789abcdefghij',
    instanceId: 'listening',
    system: world.system,
  })
  const options = { client, system: world.system, signal: new AbortController().signal, onTrouble: () => {} }
  await expect(followEvents(options).next()).rejects.toMatchObject({ status: 401 })
  await world.drop()
})
