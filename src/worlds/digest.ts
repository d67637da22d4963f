import { sha256 } from '../core/system.ts'
import type { World } from './schema.ts'

/** Returns a world's name and a hash of its content, which together identify the world. */
function digestOf(world: World): string {
  return `${world.name ?? 'a world without a name'} (${sha256(canonical(world)).slice(0, 16)})`
}

/** The digest of the package's own world. It is the same in every version of the package. */
const ownDigest = 'the world of the package'

/**
 * Returns the digests of the database's world and of the requested world; undefined if the two digests are the same.
 * @param held the digest that is stored in the database; null if there is none
 */
export function compareWorlds(
  held: string | null,
  world: World | undefined,
): { held: string; requested: string } | undefined {
  const requested = digestOfSeeding(world)
  // A database without a stored digest is from an early version, and holds the package's own world.
  return (held ?? ownDigest) === requested ? undefined : { held: held ?? ownDigest, requested }
}

/** Returns the digest of the world that fills a new database. @param world undefined for the package's own world */
export function digestOfSeeding(world: World | undefined): string {
  return world === undefined ? ownDigest : digestOf(world)
}

/** Encodes a value as JSON with sorted fields, so that the order of fields in the value makes no difference. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`
}
