import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { worldSchema } from '../src/worlds/schema.ts'

export const ownWorldFile = 'src/worlds/own-world.ts'

/**
 * Returns the code of a module that contains the package's own world (worlds/sandbox.yaml), so that the program starts
 * without parsing YAML.
 */
export function ownWorldModule(): string {
  const file = readFileSync(new URL('../worlds/sandbox.yaml', import.meta.url), 'utf8')
  const text = JSON.stringify(worldSchema.parse(parse(file)), null, 2)
  if (/[`\\]|\$\{/.test(text)) throw new Error('worlds/sandbox.yaml must not contain a backtick, a backslash or ${.')
  return `import type { World } from './schema.ts'

/** The package's own world. \`npm run generate\` copies it from worlds/sandbox.yaml. */
export const ownWorld = JSON.parse(\`${text}\`) as World
`
}
