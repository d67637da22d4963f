import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { settings } from '../../src/config/settings.ts'
import { root } from './installed.ts'

const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const entry = read('server.json')
const packageJson = read('package.json')

/** An exact version. The registry accepts no range (^1.2.3), no tag (latest) and no prefix (v1.2.3). */
const Version = z.string().regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/)

const EnvironmentVariable = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  default: z.string().optional(),
  choices: z.array(z.string()).min(1).optional(),
})

const NpmPackage = z.strictObject({
  registryType: z.literal('npm'),
  identifier: z.string().min(1),
  version: Version,
  runtimeHint: z.literal('npx').optional(),
  transport: z.strictObject({ type: z.literal('stdio') }),
  environmentVariables: z.array(EnvironmentVariable).optional(),
})

/** The part of the MCP registry's schema (2025-12-11) that server.json uses. */
const Entry = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100).optional(),
  description: z.string().min(1).max(100),
  version: Version,
  websiteUrl: z.url().optional(),
  repository: z.strictObject({ url: z.url(), source: z.string() }).optional(),
  packages: z.array(NpmPackage),
})

test('server.json matches the schema of the MCP registry', () => {
  expect(Entry.safeParse(entry)).toMatchObject({ success: true })
})

test.each([
  ['a description of 101 characters', { description: 'x'.repeat(101) }],
  ['a name without a namespace', { name: 'payments-mcp' }],
  ['a version range', { version: '^0.1.0' }],
  ['an unknown field', { surprise: true }],
  ['a tag as the version of a package', { packages: [{ ...entry.packages[0], version: 'latest' }] }],
])('the schema rejects %s', (_, change) => {
  expect(Entry.safeParse({ ...entry, ...change }).success).toBe(false)
})

test('server.json and package.json have the same names and version, and the package has a command of its own name', () => {
  expect(entry).toMatchObject({ name: packageJson.mcpName, version: packageJson.version })
  expect(entry.packages).toMatchObject([{ identifier: packageJson.name, version: packageJson.version }])
  expect(Object.keys(packageJson.bin)).toContain(packageJson.name)
})

test('server.json lists every setting and marks the secret ones', () => {
  const variables = (entry.packages[0].environmentVariables as z.infer<typeof EnvironmentVariable>[]).map(
    ({ name, isSecret }) => ({ name, isSecret }),
  )
  expect(variables).toEqual(settings.map(({ variable, secret }) => ({ name: variable, isSecret: secret })))
  expect(variables.filter(({ isSecret }) => isSecret).map(({ name }) => name)).toContain('PAYMENTS_KEY')
})
