import { readFileSync } from 'node:fs'
import { McpbManifestSchema } from '@anthropic-ai/mcpb/schemas/0.3'
import { expect, it } from 'vitest'
import { entryPoints, examplesOf } from '../scripts/api-reference.ts'
import { documentsWithTables, manifest, registryEntry, withTables } from '../scripts/documents.ts'
import { fileSchemas } from '../scripts/file-schemas.ts'
import { readJudgeMutants } from '../scripts/judge-mutants-table.ts'
import { ownWorldFile, ownWorldModule } from '../scripts/own-world.ts'
import { settings } from '../src/config/settings.ts'
import { lies } from '../src/rehearse/mutants/lies.ts'
import { mutants } from '../src/rehearse/mutants/mutants.ts'

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
/** The text of all documents about how to use the package. */
const usageDocuments = ['README.md', ...documentsWithTables, 'docs/sandbox.md'].map(read).join('\n')

it.each(documentsWithTables)('%s equals the output of npm run generate', (path) => {
  expect(read(path)).toBe(withTables(path, read(path)))
})

it('every entry point of the package has an example', () => {
  const { exports } = JSON.parse(read('package.json')) as { exports: object }
  const names = Object.keys(exports).flatMap((name) => (name.endsWith('.json') ? [] : `payments-mcp${name.slice(1)}`))
  expect(Object.keys(entryPoints).toSorted()).toEqual(names.toSorted())
  expect((names as (keyof typeof entryPoints)[]).filter((name) => examplesOf(name).length === 0)).toEqual([])
})

it('manifest.json equals the output of npm run generate', () => {
  expect(read('manifest.json')).toBe(manifest(JSON.parse(read('package.json'))))
})

it('server.json equals the output of npm run generate', () => {
  expect(read('server.json')).toBe(registryEntry(JSON.parse(read('package.json'))))
})

it.each(Object.entries(fileSchemas))('%s equals the output of npm run generate', (path, schema) => {
  expect(read(path)).toBe(schema())
})

it("the package's own world equals the output of npm run generate", () => {
  expect(read(ownWorldFile)).toBe(ownWorldModule())
})

it('the table of mutants lists every mutant, and the judge always caught each mutant that is not a lie', () => {
  const names = [...mutants.map(({ name }) => name), ...Object.keys(lies)]
  const measured = readJudgeMutants().mutants
  // `npm run judge:mutants:write` updates the measurements.
  expect(measured.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  expect(measured.filter(({ kind, tried, caught }) => kind !== 'lie' && caught < tried)).toEqual([])
})

it('manifest.json is a valid MCPB manifest 0.3', () => {
  expect(McpbManifestSchema.safeParse(JSON.parse(read('manifest.json')))).toMatchObject({ success: true })
  expect(McpbManifestSchema.safeParse({ ...JSON.parse(read('manifest.json')), surprise: 1 }).success).toBe(false)
})

it('the documents mention only npm scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const named = [...usageDocuments.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[a-z:]+)/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(5)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})

it('the documents mention only settings and flags that exist', () => {
  const variables = [...usageDocuments.matchAll(/\bPAYMENTS_[A-Z_]+/g)].map(([name]) => name)
  expect(variables.length).toBeGreaterThan(settings.length)
  const knownVariables = settings.map(({ variable }) => variable)
  expect(variables.filter((name) => !knownVariables.includes(name))).toEqual([])
  const flags = [...usageDocuments.matchAll(/^payments-mcp .*?(?= {2}|$)/gm)].flatMap(
    // Flags within quotes belong to the command that starts an agent.
    ([line]) => line.replace(/'[^']*'/g, '').match(/--[a-z-]+/g) ?? [],
  )
  expect(flags.length).toBeGreaterThan(3)
  const declared = read('src/commands/main.ts') + read('src/rehearse/options.ts')
  const options = [...declared.matchAll(/(?:ption\(|\[\s*)'(--[a-z-]+)/g)].map(([, name]) => name)
  expect(flags.filter((name) => !options.includes(name) && !settings.some(({ flag }) => flag === name))).toEqual([])
})
