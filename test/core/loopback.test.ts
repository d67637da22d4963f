import { expect, test } from 'vitest'
import { parseBaseUrl } from '../../src/config/values.ts'
import { isLoopback } from '../../src/core/loopback.ts'
import { isAllowedOrigin } from '../../src/service/listen.ts'

test.each([
  ['http://localhost:4010', true],
  ['http://127.0.0.1:4010', true],
  ['http://127.0.0.2:4010', true],
  ['http://127.255.255.254', true],
  ['http://[::1]:4010', true],
  ['http://128.0.0.1', false],
  ['http://localhost.example', false],
  ['http://127.0.0.1.example', false],
  ['http://[::2]', false],
])('%s is local: %s, according to isLoopback, the URL settings and the origin checks alike', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
  expect(parseBaseUrl(address) !== undefined).toBe(expected)
  expect(isAllowedOrigin(address, [])).toBe(expected)
})
