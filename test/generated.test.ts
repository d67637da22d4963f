import { readFileSync } from 'node:fs'
import { McpbManifestSchema } from '@anthropic-ai/mcpb/schemas/0.3'
import { expect, it } from 'vitest'
import { manifest, readme } from '../scripts/documents.ts'

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')

it('README.md is what npm run generate writes', () => {
  expect(read('README.md')).toBe(readme(read('README.md')))
})

it('manifest.json is what npm run generate writes', () => {
  expect(read('manifest.json')).toBe(manifest(JSON.parse(read('package.json'))))
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
