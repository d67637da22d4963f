import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { z } from 'zod'
import { scopes } from '../../src/core/permissions.ts'
import { parseWorld } from '../../src/worlds/parse.ts'
import { maxBytes, parseFile, WorldFileError } from '../../src/worlds/parse-file.ts'
import { worldSchema } from '../../src/worlds/schema.ts'
import { anyCharacter } from '../support/any-character.ts'
import { isDeep } from '../support/depth.ts'

/** Returns the lines of the error for an invalid world; an empty list if the world is valid. */
function mistakes(source: string | object): readonly string[] {
  try {
    parseWorld(source, 'w.yaml')
    return []
  } catch (error) {
    if (error instanceof WorldFileError) return error.lines
    throw error
  }
}

const secret = 'topsecret-topsecret-topsecret'

/** Contents of files that belong to other programs. Somebody may pass such a file by mistake or on purpose. */
const foreignFiles = [
  'root:x:0:0:root:/root\ndaemon:x:1:1:passwords',
  '-----BEGIN PRIVATE KEY-----\npasswords\n-----END PRIVATE KEY-----',
  'passwords',
  'API=passwords\n',
  '["passwords", "more passwords"]',
  '- passwords\n- ["passwords"]',
  '{ "passwords": 1, passwords',
]
describe.each([
  ['a world', worldSchema],
  ['faults', z.strictObject({ faults: z.array(z.string()) })],
  ['scenarios', z.record(z.string(), z.strictObject({ task: z.string() }))],
  ['a list', z.array(z.strictObject({ task: z.string() }))],
] as const)('a foreign file that is parsed as %s', (_, schema) => {
  it.each(foreignFiles)('the file %j is refused, and the error does not show its content', (text) => {
    let message = ''
    try {
      parseFile(text, 'other.txt', schema)
    } catch (error) {
      message = String(error)
    }
    expect(message).toMatch(/other\.txt:\d+:\d+ /)
    expect(message).not.toMatch(/passwords|root|KEY/)
    if (!/^[-[{]( |"|\[)/.test(text))
      expect(message).toContain('other.txt:1:1 the file is a single string without fields, not a world')
  })
})

describe('a world file', () => {
  it('a YAML file with anchors and merged maps gives the same world as the equivalent JSON', () => {
    const yaml = `
# Three parties with equal wallets.
clock: 2026-01-31T09:00:00Z
parties:
  acme: &party
    wallets: &wallets
      main: { balance: 100 }
  other:
    <<: *party
    type: PERSON
  third:
    wallets: *wallets
    displayName: "0012"
`
    const wallets = [{ ref: 'main', balance: 100 }]
    const json = JSON.stringify(
      {
        clock: '2026-01-31T09:00:00Z',
        parties: [
          { ref: 'acme', wallets },
          { ref: 'other', wallets, type: 'PERSON' },
          { ref: 'third', wallets, displayName: '0012' },
        ],
      },
      null,
      '\t',
    )
    expect(parseWorld(yaml, 'w.yaml')).toEqual(parseWorld(json, 'w.json'))
    expect(parseWorld(`\uFEFF${json}`, 'w.json')).toEqual(parseWorld(JSON.parse(json), 'the world'))
  })

  it.each<[string, string]>([
    [
      'name: x\nparties:\n  acme:\n    wallets:\n      main:\n        balance: "12.50"\n',
      '6:9 parties.acme.wallets.main.balance got "12.50"; it accepts a whole number of cents from 0 to 999999999999 ($9,999,999,999.99). If you meant dollars, write 1250.',
    ],
    [
      'parties:\n  - wallets:\n      - {}\n      - balance: 0.5',
      '4:9 parties[0].wallets[1].balance got 0.5; it accepts a whole number of cents from 0 to 999999999999 ($9,999,999,999.99). If you meant dollars, write 50.',
    ],
    ['parties: [{type: Org}]', '1:12 parties[0].type got "Org"; it accepts one of "ORG", "PERSON". Did you mean ORG?'],
    [
      '{"parties": {\n "acme": {\n  "walets": []}}}',
      '3:3 parties.acme.walets is not a known field; did you mean wallets?',
    ],
    ['parties: [{}]\nspeed: 2', '2:1 speed is not a known field; use one of name, clock, rehearsal, shops, parties.'],
    ['name: only', '1:1 parties is missing; it accepts a list, or a map with names as keys.'],
    ['parties: 5', '1:1 parties got 5; it accepts a list, or a map with names as keys.'],
    ['parties: {}', '1:1 parties must contain at least one party.'],
    ['', '1:1 the file is empty; it must contain an object.'],
    [
      'parties:\n  2nd:',
      '2:3 parties.2nd has the name "2nd"; it accepts a name: a letter, then letters, digits, dots, dashes and underscores.',
    ],
    [
      'parties:\n  "a b": {}',
      '2:3 parties["a b"] has the name "a b"; it accepts a name: a letter, then letters, digits, dots, dashes and underscores.',
    ],
    ['parties: [{id: pty_1}]', '1:12 parties[0].id got "pty_1"; it accepts pty_ and 32 lower-case hexadecimal digits.'],
    [
      'parties: [{createdAt: soon}]',
      '1:12 parties[0].createdAt got "soon"; it accepts a time such as 2026-01-31T09:00:00Z, a day such as 2026-01-31, or an offset from the world\'s clock such as -3d, +2h or -45m.',
    ],
    [
      'parties: [{}]\nclock: 2026',
      '2:1 clock got 2026; it accepts an RFC 3339 timestamp such as 2026-01-31T12:00:00Z.',
    ],
    ['parties: [{}]\nrehearsal: yes', '2:1 rehearsal got "yes"; it accepts true or false.'],
    [
      'parties:\n- users: [{email: x}]',
      '2:12 parties[0].users[0].email got "x"; it accepts an email address, at most 320 characters.',
    ],
    [
      'parties:\n- agents: {a: {wallets: [{wallet: mian}]}}\n  wallets: {main: }',
      '2:27 parties[0].agents.a.wallets[0].wallet got "mian"; it accepts a wallet of the party; known names: main.',
    ],
    [
      'parties:\n- agents: [{ref: a}]\n  cards:\n  - {agent: a, merchant: B, maximumAmount: -1}',
      '4:29 parties[0].cards[0].maximumAmount got -1; it accepts a whole number of cents from 1 to 99999999 ($999,999.99).',
    ],
    [
      'parties:\n- cards:\n  - {agent: a, merchant: B}',
      '3:5 parties[0].cards[0].maximumAmount is missing; it accepts a whole number of cents from 1 to 99999999 ($999,999.99).',
    ],
    [
      'parties: [{tags: {"": x}}]',
      '1:12 parties[0].tags is not a known field; use one of ref, id, type, displayName, email, phone, handle, profile, compliance, status, issuedCardsEnabled, limits, createdAt, users, wallets, agents, apiKeys, customers, invitations, invitationLinks, cards, payments, wires, deposits, internalTransfers, subscriptions.',
    ],
    [
      'parties: [{wallets: [{tags: {"$": x}}]}]',
      '1:30 parties[0].wallets[0].tags["$"] has an invalid key; a value must be under a key that is of the form /^[A-Za-z0-9][\\w.:/ -]{0,99}$/.',
    ],
    ['parties: [{__proto__: 1}]', '1:12 parties[0].__proto__ is not a known field; use one of'],
  ])('the error for %j gives the position, the field and what is accepted', (text, line) => {
    expect(mistakes(text)[0]).toContain(`w.yaml:${line}`)
    expect(mistakes(text)).toHaveLength(1)
  })

  it.each<[string, string]>([
    [
      'a: b: c',
      '1:4 cannot be read as YAML: each key must begin a line, indented like its siblings; quote a string that contains a colon.',
    ],
    [
      'name: a\n  parties: 1',
      '1:7 cannot be read as YAML: each key must begin a line, indented like its siblings; quote a string that contains a colon.',
    ],
    ['a:\n\t- b', '2:1 cannot be read as YAML: use spaces for indentation, not tabs.'],
    [
      'a:\n  - b\n - c',
      '3:1 cannot be read as YAML: each key must begin a line, indented like its siblings; quote a string that contains a colon.',
    ],
    [
      'parties: [',
      '1:11 cannot be read as YAML: the text ends, but a closing quote, bracket or brace, or a value, is missing.',
    ],
    [
      'name: "unclosed\n',
      '2:1 cannot be read as YAML: the text ends, but a closing quote, bracket or brace, or a value, is missing.',
    ],
    [
      '{"name": "a" "parties": []}',
      '1:14 cannot be read as YAML (at "): this does not belong here, or something is missing before it.',
    ],
    ['a: @x', '1:4 cannot be read as YAML (at @): a string that begins with this character needs quotes.'],
    [
      'a: "\\q"',
      '1:5 cannot be read as YAML: in double quotes, \\ begins an escape such as \\n; write \\\\ for a backslash.',
    ],
    ['a: ]', '1:4 cannot be read as YAML (at ]): this does not belong here, or something is missing before it.'],
    ['x: !foo 1', '1:4 cannot be read as YAML (at !): a tag (!…) is not allowed; write only the value.'],
    ['x: !!binary aGk=', '1:4 cannot be read as YAML (at !): a tag (!…) is not allowed; write only the value.'],
    ['%YAML 1.1\n---\na: yes', '1:1 cannot be read as YAML (at %): a directive (%…) is not allowed; remove the line.'],
    ['a: 1\n---\nb: 2', '2:1 cannot be read as YAML (at -): a second document begins here; only one is allowed.'],
    ['? [a]\n: 1', '1:3 cannot be read as YAML (at [): a key must be a string.'],
    ['a: 1\nb: 2\na: 3', '3:1 cannot be read: the key "a" is given twice.'],
    ['a: *x', '1:4 cannot be read: no anchor with this name comes before the alias.'],
    ['a: &a [*a]', '1:8 cannot be read: no anchor with this name comes before the alias.'],
    ['<<: 5', '1:1 cannot be read: << takes an alias of a map, or a list of such aliases.'],
    ['['.repeat(101), '1:100 cannot be read as YAML (at [): it is nested deeper than 100 levels.'],
  ])('the YAML %j is refused with its position and the reason', (text, line) => {
    expect(mistakes(text)).toEqual([`w.yaml:${line}`])
  })

  it('an error lists up to twenty mistakes in the order of their lines, and counts the rest', () => {
    const parties = (count: number) => Array.from({ length: count }, () => '  - type: x').join('\n')
    const accepts = 'got "x"; it accepts one of "ORG", "PERSON".'
    expect(mistakes(`parties:\n${parties(2)}\nclock: noon\n`)).toEqual([
      `w.yaml:2:5 parties[0].type ${accepts}`,
      `w.yaml:3:5 parties[1].type ${accepts}`,
      'w.yaml:4:1 clock got "noon"; it accepts an RFC 3339 timestamp such as 2026-01-31T12:00:00Z.',
    ])
    const many = mistakes(`parties:\n${parties(33)}\n`)
    expect(many).toHaveLength(21)
    expect(many.slice(-2)).toEqual([`w.yaml:21:5 parties[19].type ${accepts}`, '… and 13 more.'])
  })

  it('a mistake that an alias repeats is reported at the anchor', () => {
    const lines = mistakes('parties:\n- wallets: &w\n  - balance: x\n- wallets: *w')
    expect(lines.map((line) => line.slice(0, line.indexOf(' got')))).toEqual([
      'w.yaml:3:5 parties[0].wallets[0].balance',
      'w.yaml:3:5 parties[1].wallets[0].balance',
    ])
  })

  it('mistakes in a world that a program passes as an object are reported with paths and no line numbers', () => {
    expect(mistakes({ parties: [{ type: 'x' }] })).toEqual([
      'w.yaml: parties[0].type got "x"; it accepts one of "ORG", "PERSON".',
    ])
  })

  it.each([
    `parties: [{apiKeys: [{secret: "${secret} "}]}]`,
    `parties: [{apiKeys: [{secret: [${secret}]}]}]`,
    `parties: [{apiKeys: [${secret}]}]`,
    `parties: [{apiKeys: {main: ${secret}}}]`,
    `parties: [{agents: [{keys: ${secret}}]}]`,
    `parties: [{agents: [{keys: [{secret: "${secret} x"}]}]}]`,
    `parties: [{apiKeys: [{secret: ${secret}}, {secret: ${secret}}]}]`,
    `parties: [{users: [{email: a@b.example, password: "${secret.repeat(9)}"}]}]`,
    `parties: [{payments: [{claimToken: ["${secret}"]}]}]`,
    `parties: [{apiKeys: [{secret: "${secret}]}]`,
    `parties: [{apiKeys: [{secret: ${secret} "${secret}"}]}]`,
    `parties: [{apiKeys: [{secret: "${secret}" ${secret}}]}]`,
    `parties: [{apiKeys: [{secret: !${secret} x}]}]`,
    `parties: [{apiKeys: [{secret: *${secret}}]}]`,
    `parties: [{apiKeys: [{secret: '${secret}': 1}]}]`,
    `parties: [{name: sk_ntl_sandbox_${secret}, sk_ntl_sandbox_${secret}: 1}]`,
  ])('the error for %s does not show the secret', (text) => {
    const lines = mistakes(text)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('\n')).not.toContain('topsecret')
  })

  it('a file above 1 MiB is refused, as is a file whose aliases expand to more than 100,000 values', () => {
    expect(mistakes(`#${'x'.repeat(maxBytes)}`)).toEqual(['w.yaml is larger than 1 MiB, the limit for files.'])
    const level = (name: string, item: string) => `${name}: &${name} [${Array(10).fill(item).join(', ')}]\n`
    const billionLaughs = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name, at, all) =>
      level(name, at === 0 ? '1' : `*${all[at - 1]}`),
    )
    expect(mistakes(billionLaughs.join(''))).toEqual([
      'w.yaml:5:7 cannot be read: the file has more than 100000 values after its aliases are expanded.',
    ])
    const merges = `a: &a {x: [${Array(100).fill(1).join()}]}\nparties: [${Array(1000).fill('{<<: *a}').join()}]`
    expect(mistakes(merges)[0]).toContain('more than 100000 values')
  })

  it('a world is parsed to the same result from YAML, from JSON and from an object', () => {
    const options = isDeep ? { numRuns: 500 } : { numRuns: 20 }
    fc.assert(
      fc.property(worldFile(), (file) => {
        const world = parseWorld(structuredClone(file), 'the world')
        expect(parseWorld(stringify(file), 'w.yaml')).toEqual(world)
        expect(parseWorld(JSON.stringify(file, null, 1), 'w.json')).toEqual(world)
        expect(parseWorld(stringify(file, { version: '1.1', defaultStringType: 'QUOTE_DOUBLE' }), 'w.yaml')).toEqual(
          world,
        )
      }),
      options,
    )
  })

  it('the error for any invalid text consists of readable lines', () => {
    const blunder = /undefined|\[object|Bug/
    const options = isDeep ? { numRuns: 5_000 } : { numRuns: 120 }
    fc.assert(
      fc.property(anyText(), (text) => {
        const lines = mistakes(text)
        expect(lines.length).toBeLessThanOrEqual(21)
        for (const line of lines) {
          expect(line).toMatch(/^(w\.yaml:\d+:\d+ [^\p{Cc}]{1,700}|… and \d+ more\.)$/u)
          // If the file itself contains a word of `blunder`, the error may quote that word.
          if (!blunder.test(text)) expect(line).not.toMatch(blunder)
        }
        const count = text.split(/\r\n|\n|\r/).length
        for (const [, at] of lines.map((line) => /^w\.yaml:(\d+)/.exec(line) ?? [])) {
          if (at !== undefined) expect(Number(at)).toBeLessThanOrEqual(count)
        }
      }),
      options,
    )
  })
})

describe('a file other than a world', () => {
  const schema = z.strictObject({
    rules: z.array(z.union([z.strictObject({ fault: z.enum(['slow', 'hang']) }), z.literal('off')])).min(1),
  })
  const lines = (text: string) => {
    try {
      parseFile(text, 'faults.yaml', schema)
      return []
    } catch (error) {
      return (error as WorldFileError).lines
    }
  }

  it('a faults file is parsed with its own schema, and errors list the values that this schema accepts', () => {
    expect(parseFile('rules:\n  - fault: slow\n  - off', 'faults.yaml', schema)).toEqual({
      rules: [{ fault: 'slow' }, 'off'],
    })
    expect(lines('rules: [{fault: slo}]')).toEqual([
      'faults.yaml:1:10 rules[0].fault got "slo"; it accepts one of "slow", "hang". Did you mean slow?',
    ])
    expect(lines('rules: [on, {faults: slow}]')).toEqual([
      'faults.yaml:1:9 rules[0] got "on"; it accepts an object, or "off".',
      'faults.yaml:1:13 rules[1].fault is missing; it accepts one of "slow", "hang".',
      'faults.yaml:1:14 rules[1].faults is not a known field; did you mean fault?',
    ])
    expect(lines('rules: []')).toEqual([
      'faults.yaml:1:1 rules got an empty array; it accepts an array of at least 1 entry.',
    ])
  })
})

/** Generates a valid world file with many of the possible fields. Each collection in the file is a list or a map. */
function worldFile() {
  const line = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((text) => /^(?=.*\S)[^\p{Cc}\p{Cs}]+$/u.test(text))
  const words = fc.oneof(
    line,
    fc.constantFrom('yes', 'null', '012', '1e3', '~', '- a', 'a: b', '# a', '*a', '2026-01-31', '<<', "it's", '"'),
  )
  const cents = fc.integer({ min: 0, max: 1_000_000 })
  const time = fc.constantFrom('-3d', '+2h', '2026-01-31', '2026-01-31T09:00:00Z', '2026-01-31T09:00:00.123+02:00')
  const tags = fc.dictionary(fc.stringMatching(/^[A-Za-z0-9][\w.:/ -]{0,9}$/), words, { maxKeys: 3 })
  const optional = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] })
  const names = ['one', 'two', 'null', 'true', 'constructor', 'toString', 'e1']
  const many = (fields: Record<string, fc.Arbitrary<unknown>>) =>
    fc.oneof(
      fc
        .uniqueArray(fc.constantFrom(...names), { maxLength: 3 })
        .chain((refs) => fc.tuple(...refs.map((ref) => optional(fields).map((thing) => ({ ref, ...thing }))))),
      fc.dictionary(fc.constantFrom(...names), fc.option(optional(fields), { freq: 6 }), { maxKeys: 3 }),
    )
  const party = {
    type: fc.constantFrom('ORG', 'PERSON'),
    displayName: words,
    createdAt: time,
    issuedCardsEnabled: fc.boolean(),
    limits: optional({
      perTransaction: fc.option(cents.map((amount) => amount + 1)),
      perDay: cents.map((amount) => amount + 1),
    }),
    wallets: many({ displayName: words, balance: cents, tags, status: fc.constantFrom('active', 'frozen') }).filter(
      (fields) => Object.keys(fields as object).length > 0,
    ),
    agents: many({ name: words, description: words, tags, createdAt: time, keys: many({ expiresAt: time }) }),
    apiKeys: many({ name: words, scopes: fc.uniqueArray(fc.constantFrom(...scopes)), tags }),
    deposits: many({ at: time })
      .map((fields) => (Array.isArray(fields) ? fields : Object.values(fields)))
      .map((entries) => entries.map((one, at) => ({ ...(one as object), amount: at + 1 }))),
  }
  return fc
    .record(
      { name: words, rehearsal: fc.boolean(), clock: fc.constant('2026-01-31T09:00:00Z'), parties: many(party) },
      { requiredKeys: ['parties'] },
    )
    .filter(({ parties }) => Object.keys(parties as object).length > 0)
}

/** Generates arbitrary texts. Some of the texts are world files in which a few characters were replaced. */
function anyText(): fc.Arbitrary<string> {
  const piece = fc.constantFrom(
    'parties',
    'wallets',
    'balance',
    ': ',
    ':',
    '\n',
    '\n  ',
    '\n    ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '&a ',
    '*a',
    '<<',
    '|',
    '>',
    '"',
    "'",
    '\\',
    '#',
    '!x ',
    '%',
    '---\n',
    '\t',
    '\r',
    '\u0000',
    '\uFEFF',
    '\ud83d',
    '@',
    '?',
    '1',
    '-1',
    '1e999',
    '0x',
    '.nan',
    'null',
    'x'.repeat(1030),
    '__proto__',
    'agents',
    'ref',
  )
  const brokenFiles = fc.tuple(worldFile(), fc.nat(), fc.nat(9), piece).map(([file, at, cut, replacement]) => {
    const text = stringify(file)
    const from = at % text.length
    return `${text.slice(0, from)}${replacement}${text.slice(from + cut)}`
  })
  return fc.oneof(
    brokenFiles,
    fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
    fc.string({ unit: anyCharacter }),
    fc.json(),
  )
}
