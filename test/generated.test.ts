import { readFileSync } from 'node:fs'
import { McpbManifestSchema } from '@anthropic-ai/mcpb/schemas/0.3'
import { expect, it } from 'vitest'
import { manifest, readme, registryEntry } from '../scripts/documents.ts'
import { settings } from '../src/config/settings.ts'

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')

it('README.md is what npm run generate writes', () => {
  expect(read('README.md')).toBe(readme(read('README.md')))
})

it('manifest.json is what npm run generate writes', () => {
  expect(read('manifest.json')).toBe(manifest(JSON.parse(read('package.json'))))
})

it('server.json is what npm run generate writes', () => {
  expect(read('server.json')).toBe(registryEntry(JSON.parse(read('package.json'))))
})

it('manifest.json is a valid MCPB manifest 0.3', () => {
  expect(McpbManifestSchema.safeParse(JSON.parse(read('manifest.json')))).toMatchObject({ success: true })
  expect(McpbManifestSchema.safeParse({ ...JSON.parse(read('manifest.json')), surprise: 1 }).success).toBe(false)
})

it('README.md names only scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const named = [...read('README.md').matchAll(/\bnpm (?:run )?(start|test|(?<=run )[a-z:]+)/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(5)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})

it('README.md names only settings that exist', () => {
  const text = read('README.md')
  const variables = [...text.matchAll(/\bPAYMENTS_[A-Z_]+/g)].map(([name]) => name)
  expect(variables.length).toBeGreaterThan(settings.length)
  const known = settings.map(({ variable }) => variable)
  expect(variables.filter((name) => !known.includes(name))).toEqual([])
  const flags = [...text.matchAll(/^payments-mcp .*?(?= {2}|$)/gm)].flatMap(([line]) => line.match(/--[a-z-]+/g) ?? [])
  expect(flags.length).toBeGreaterThan(3)
  expect(flags.filter((name) => !settings.some(({ flag }) => flag === name))).toEqual([])
})
