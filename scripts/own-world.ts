import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { worldSchema } from '../src/worlds/schema.ts'

export const ownWorldFile = 'src/worlds/own-world.ts'

/** Returns the text of the module with the package's own world, so that no start reads its file. */
export function ownWorldModule(): string {
  const file = readFileSync(new URL('../worlds/sandbox.yaml', import.meta.url), 'utf8')
  const text = JSON.stringify(worldSchema.parse(parse(file)), null, 2)
  if (/[`\\]|\$\{/.test(text)) throw new Error('The text of a template cannot have all characters.')
  return `import type { World } from './schema.ts'

/** Written by npm run generate: worlds/sandbox.yaml, as it is read. */
export const ownWorld = JSON.parse(\`${text}\`) as World
`
}
