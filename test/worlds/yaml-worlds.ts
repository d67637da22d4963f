import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type World, worldSchema } from '../../src/worlds/schema.ts'

export function worldFromYaml(yaml: string): World {
  return worldSchema.parse(parse(yaml, { merge: true }))
}

export const worldWithEverything = worldFromYaml(readFileSync(new URL('everything.yaml', import.meta.url), 'utf8'))
