import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/config/log.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { clientAddress } from '../../src/service/request/client-address.ts'

const findAddress = (remoteAddress: string | undefined, forwardedFor: string | undefined, ...trusted: string[]) =>
  clientAddress(trusted)({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwardedFor } })

describe('client addresses', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:0:0:ffff::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, 'unknown'],
  ])('a client whose connection has the address %s is counted as %s', (remoteAddress, address) => {
    expect(findAddress(remoteAddress, undefined)).toBe(address)
  })

  test('an untrusted peer cannot set its address with X-Forwarded-For', () => {
    expect(findAddress('192.0.2.1', '198.51.100.7')).toBe('192.0.2.1')
    expect(findAddress('192.0.2.1', '198.51.100.7', '10.0.0.0/8', '192.0.2.2')).toBe('192.0.2.1')
  })

  test.each([
    ['10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.7, 10.9.9.9', '198.51.100.7'],
    ['2001:db8:ffff::5', '2001:db8:1:2::3', '2001:db8:1:2::/64'],
    ['10.0.0.1', '[2001:db8:1:2::3]:4711', '2001:db8:1:2::/64'],
    ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', 'unknown, 10.0.0.2', '10.0.0.2'],
    ['10.0.0.1', '198.51.100.7, _hidden', '10.0.0.1'],
    ['10.0.0.1', '', '10.0.0.1'],
  ])(
    'behind the trusted proxy %s with X-Forwarded-For %j, the client is %s',
    (remoteAddress, forwardedFor, address) => {
      expect(findAddress(remoteAddress, forwardedFor, '10.0.0.0/8', '2001:db8:ffff::/48')).toBe(address)
    },
  )
})

describe('the client address at the listener', () => {
  let listener: Listener
  afterEach(() => listener.close())

  test.each([
    { trustedProxies: [], address: '127.0.0.1' },
    { trustedProxies: ['127.0.0.0/8'], address: '198.51.100.7' },
  ])('with the trusted proxies $trustedProxies, the client is $address', async ({ trustedProxies, address }) => {
    listener = await listen({
      fetch: async (_, caller) => Response.json(caller),
      host: '127.0.0.1',
      port: 0,
      trustedProxies,
      system: realSystem,
      log: createLogger({ level: 'silent' }),
    })
    // The client forged the first address. The client's proxy added the second address in a separate header.
    const caller = await sendRequest(listener.url, { 'X-Forwarded-For': ['203.0.113.9', '198.51.100.7'] })
    expect(caller).toEqual({ local: false, address })
  })
})

describe('the Strict-Transport-Security header', () => {
  test.each([
    ['https://payments.example', 'max-age=31536000'],
    ['http://localhost:1', null],
    [undefined, null],
  ])('with the public URL %s, the Strict-Transport-Security header is %s', async (publicUrl, header) => {
    const log = createLogger({ level: 'silent' })
    const fetching = async () => new Response('')
    const listener = await listen({ fetch: fetching, host: '127.0.0.1', port: 0, publicUrl, system: realSystem, log })
    const answers = [
      await fetch(listener.url),
      await fetch(listener.url, { headers: { origin: 'https://evil.example' } }),
    ]
    expect(answers.map(({ headers }) => headers.get('strict-transport-security'))).toEqual([header, header])
    await listener.close()
  })
})

function sendRequest(url: string, headers: Record<string, string[]>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, async (response) => {
      const parts = await response.toArray()
      resolve(JSON.parse(Buffer.concat(parts).toString()))
    })
    sent.on('error', reject).end()
  })
}
