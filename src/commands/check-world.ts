import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/settings.ts'
import { compareWorlds } from '../worlds/digest.ts'
import type { World } from '../worlds/schema.ts'
import { bad, type Finding, ok } from './finding.ts'
import { openWorldFile, remedyFor } from './setting-file.ts'

/**
 * Checks the configured world, and that the database was filled from it. `storedDigest` identifies the world in the
 * database. It is null if the digest is unknown, and undefined if the database was not read or does not record a world.
 */
export async function checkWorld(config: Config, storedDigest: string | null | undefined): Promise<Finding[]> {
  const { world: path, databaseUrl } = config
  let world: World | undefined
  try {
    world = (await openWorldFile(config))?.value
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const [first = '', ...mistakes] = error.message.split('\n')
    const advice = 'Fix the file, or choose another one: PAYMENTS_WORLD (--world).'
    return (mistakes.length === 0 ? [first] : mistakes).map((line) => bad('World', line, advice))
  }
  const other = storedDigest === undefined ? undefined : compareWorlds(storedDigest, world)
  if (other !== undefined) {
    return [
      bad('World', `the database has ${other.held}, but startup would use ${other.requested}`, remedyFor(databaseUrl)),
    ]
  }
  if (path === undefined) return []
  return [ok('World', storedDigest === undefined ? `${path} is valid` : `the database was filled from ${path}`)]
}
