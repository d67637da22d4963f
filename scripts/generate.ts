import { readFileSync, writeFileSync } from 'node:fs'
import { documentsWithTables, manifest, type PackageFacts, registryEntry, withTables } from './documents.ts'
import { fileSchemas } from './file-schemas.ts'
import { ownWorldFile, ownWorldModule } from './own-world.ts'

// Writes all generated files: the tables of the documents, manifest.json, server.json, the schemas of world and
// scenario files, and the module with the package's own world (worlds/sandbox.yaml).

const file = (name: string) => new URL(`../${name}`, import.meta.url)
const facts = JSON.parse(readFileSync(file('package.json'), 'utf8')) as PackageFacts

for (const path of documentsWithTables) writeFileSync(file(path), withTables(path, readFileSync(file(path), 'utf8')))
writeFileSync(file('manifest.json'), manifest(facts))
writeFileSync(file('server.json'), registryEntry(facts))
writeFileSync(file(ownWorldFile), ownWorldModule())
for (const [path, schema] of Object.entries(fileSchemas)) writeFileSync(file(path), schema())
console.log(
  `${[...documentsWithTables, ...Object.keys(fileSchemas)].join(', ')}, manifest.json, server.json and ${ownWorldFile} are up to date.`,
)
