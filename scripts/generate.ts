import { readFileSync, writeFileSync } from 'node:fs'
import { manifest, type PackageFacts, readme, registryEntry } from './documents.ts'

/** Writes what derives from the catalogue and the settings: the README's tables, manifest.json and server.json. */
const file = (name: string) => new URL(`../${name}`, import.meta.url)
const facts = JSON.parse(readFileSync(file('package.json'), 'utf8')) as PackageFacts

writeFileSync(file('README.md'), readme(readFileSync(file('README.md'), 'utf8')))
writeFileSync(file('manifest.json'), manifest(facts))
writeFileSync(file('server.json'), registryEntry(facts))
console.log('README.md, manifest.json and server.json are up to date.')
