import { readFileSync, writeFileSync } from 'node:fs'
import { manifest, readme } from './documents.ts'

/** Writes what derives from the catalogue and the settings: the README's tables and manifest.json. */
const file = (name: string) => new URL(`../${name}`, import.meta.url)

writeFileSync(file('README.md'), readme(readFileSync(file('README.md'), 'utf8')))
writeFileSync(file('manifest.json'), manifest(JSON.parse(readFileSync(file('package.json'), 'utf8'))))
console.log('README.md and manifest.json are up to date.')
