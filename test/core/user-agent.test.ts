import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hostIn, userAgentOf } from '../../src/core/user-agent.ts'

const program = 'payments-mcp/1.2.3'
const unit = fc.constantFrom('grapheme' as const, 'binary' as const, 'binary-ascii' as const)

test('any name of a host fits a header, is bounded, and comes out as it went in', () => {
  fc.assert(
    fc.property(
      unit.chain((each) =>
        fc.tuple(fc.string({ unit: each, maxLength: 200 }), fc.string({ unit: each, maxLength: 60 })),
      ),
      ([name, version]) => {
        const header = userAgentOf(program, { name, version })
        expect(new Headers({ 'User-Agent': header }).get('User-Agent')).toBe(header)
        const host = hostIn(header)
        expect(host === undefined).toBe(name === '')
        expect([...`${host?.name}/${host?.version ?? ''}`].length).toBeLessThanOrEqual(80)
        expect(name.toWellFormed().startsWith(host?.name ?? '')).toBe(true)
        expect(version.toWellFormed().startsWith(host?.version ?? '')).toBe(true)
        if ([...name].length <= 60) expect(host?.name ?? '').toBe(name.toWellFormed())
      },
    ),
  )
})

test('what no MCP server of ours sent names no host', () => {
  const others = [null, '', program, 'curl/8.5.0', 'Mozilla/5.0 (X11; Linux)', `${program} (%E0%A4%A)`, `${program} ()`]
  for (const text of others) expect(hostIn(text)).toBeUndefined()
  expect(hostIn(`${program} (Claude%20Desktop/4.5)`)).toEqual({ name: 'Claude Desktop', version: '4.5' })
  expect(hostIn(`${program} (${'%41'.repeat(300)})`)).toBeUndefined()
})
