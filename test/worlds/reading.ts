import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type World, worldSchema } from '../../src/worlds/schema.ts'

/** Returns the world that a YAML text describes. */
export function worldOf(text: string): World {
  return worldSchema.parse(parse(text, { merge: true }))
}

export const everything = worldOf(readFileSync(new URL('everything.yaml', import.meta.url), 'utf8'))
