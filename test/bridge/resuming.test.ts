import { expect, test } from 'vitest'
import { event, messageOf, startBridge, startEndpoint, stream } from './start-bridge.ts'

const unfinished = 'id: 1\ndata:\n\n'

test.each([
  ['asks for a wait of 0 ms', 1_000, 'retry: 0\n'],
  ['asks for a longer wait than any timer allows', 30_000, `retry: ${'9'.repeat(400)}\n`],
  ['asks for a wait of 2³¹ ms', 30_000, 'retry: 2147483648\n'],
  ['asks for a wait of 5 s', 5_000, 'retry: 5000\n'],
  ['does not ask for a wait', 1_000, ''],
])('if the endpoint %s, the bridge waits %i ms before it resumes a stream', async (_, waitMs, retry) => {
  const resumed: unknown[] = []
  const url = await startEndpoint(async (request, response) => {
    await messageOf(request)
    response.writeHead(200, stream)
    if (request.method === 'GET') resumed.push(request.headers['last-event-id'])
    response.end(resumed.length < 3 ? `${retry}${unfinished}` : event({ id: 1, result: {} }))
  })
  const { ask, system } = await startBridge(url)
  expect(await ask('tools/call')).toMatchObject({ result: {} })
  expect(resumed).toEqual(['1', '1', '1'])
  expect(system.slept).toEqual([waitMs, waitMs, waitMs])
})

test("the bridge's own stream is resumed at most once a second", async () => {
  let opened = 0
  const url = await startEndpoint(async (request, response) => {
    await messageOf(request)
    if (request.method === 'POST') return void response.writeHead(202).end()
    opened += 1
    if (opened === 20) response.writeHead(200, stream).write(': ')
    else response.writeHead(200, stream).end('retry: 0\n\n')
  })
  const { notify, system } = await startBridge(url)
  notify({ method: 'notifications/initialized' })
  await expect.poll(() => opened).toBe(20)
  expect(system.slept).toEqual(Array.from({ length: 19 }, () => 1_000))
})

test('a stream that has ended without an answer 1000 times is not resumed again', async () => {
  let resumed = 0
  const url = await startEndpoint(async (request, response) => {
    await messageOf(request)
    if (request.method === 'GET') resumed += 1
    response.writeHead(200, stream).end(`retry: 0\n${unfinished}`)
  })
  const { ask, system } = await startBridge(url)
  const { error } = await ask('tools/call')
  expect(error.message).toContain('its stream ended without an answer 1000 times')
  expect(error.message).toMatch(
    /whether the call was carried out. Check the state with a tool that only reads before you call again.$/,
  )
  expect(resumed).toBe(1_000)
  expect(Math.min(...system.slept)).toBe(1_000)
})

test('the stream of a canceled request is not resumed', async () => {
  const requests: string[] = []
  let end = () => {}
  const url = await startEndpoint(async (request, response) => {
    const message = await messageOf(request)
    requests.push(`${request.method} ${message?.method}`)
    if (message?.method !== 'tools/call') return void response.writeHead(202).end()
    response.writeHead(200, stream).write(`${unfinished}${event({ method: 'notifications/message' })}`)
    end = () => void response.end()
  })
  const { ask, notify, messages, system } = await startBridge(url)
  void ask('tools/call')
  await expect.poll(() => messages).toHaveLength(1)
  notify({ method: 'notifications/cancelled', params: { requestId: 1 } })
  await expect.poll(() => requests).toHaveLength(2)
  end()
  // When this ping is answered, the bridge has already received the end of the stream.
  await ask('ping')
  expect(requests).toEqual(['POST tools/call', 'POST notifications/cancelled', 'POST ping'])
  expect(system.slept).toEqual([])
})

test('if many streams stay open after their answers, the oldest are closed, but not the stream of a call that still runs', async () => {
  const closed: unknown[] = []
  const url = await startEndpoint(async (request, response) => {
    const { id, method } = await messageOf(request)
    response.once('close', () => closed.push(id)).writeHead(200, stream)
    if (method === 'tools/call') response.write(event({ method: 'notifications/message' }))
    else response.write(event({ id, result: {} }))
  })
  const { ask, messages } = await startBridge(url)
  void ask('tools/call')
  await expect.poll(() => messages).toHaveLength(1)
  for (let count = 0; count < 40; count++) await ask('tools/list')
  await expect.poll(() => closed).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
})
