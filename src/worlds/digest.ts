import { sha256 } from '../core/system.ts'
import type { World } from './schema.ts'

/** The world's name and a hash of all that it says, by which one is known again. */
export function digestOf(world: World): string {
  return `${world.name ?? 'a world without a name'} (${sha256(canonical(world)).slice(0, 16)})`
}

/** JSON that does not depend on the order in which fields were written. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`
}
