import fc from 'fast-check'
import { expect, test } from 'vitest'
import { userAgentOf } from '../../src/core/user-agent.ts'

const program = 'payments-mcp/1.2.3'
const unit = fc.constantFrom('grapheme' as const, 'binary' as const, 'binary-ascii' as const)

test('the User-Agent header can encode any name of a host program, and the decoded name is limited in length', () => {
  fc.assert(
    fc.property(
      unit.chain((each) =>
        fc.tuple(fc.string({ unit: each, maxLength: 200 }), fc.string({ unit: each, maxLength: 60 })),
      ),
      ([name, version]) => {
        const header = userAgentOf(program, { name, version })
        expect(new Headers({ 'User-Agent': header }).get('User-Agent')).toBe(header)
        expect(header === program).toBe(name === '')
        const host = hostIn(header)
        expect([...`${host.name}/${host.version}`].length).toBeLessThanOrEqual(80)
        expect(name.toWellFormed().startsWith(host.name)).toBe(true)
        expect(version.toWellFormed().startsWith(host.version)).toBe(true)
        if ([...name].length <= 60) expect(host.name).toBe(name.toWellFormed())
      },
    ),
  )
})

test('a long host name is cut to 60 characters, and a long version to 19', () => {
  for (const letter of ['x', '😀', '(']) {
    const { name, version } = hostIn(userAgentOf(program, { name: letter.repeat(10_000), version: letter.repeat(999) }))
    expect([[...name].length, [...version].length]).toEqual([60, 19])
  }
})

function hostIn(header: string) {
  const [, name = '', version] = /^payments-mcp\/1\.2\.3 \(([^()/\s]+)(?:\/([^()/\s]+))?\)$/.exec(header) ?? []
  return { name: decodeURIComponent(name), version: decodeURIComponent(version ?? '') }
}
