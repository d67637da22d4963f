import { ConfigError } from '../config/load.ts'
import { type Config, names } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { AnotherWorldError } from '../service/seed.ts'
import { InvalidWorldError } from '../worlds/invalid-world.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'
import { refusedFile, remedyFor } from './setting-file.ts'

/**
 * Runs `work`, which fills the database with a world if the database is empty. If the configured world file cannot be
 * used, the error names the setting PAYMENTS_WORLD (--world).
 * @throws ConfigError, or WorldFileError if the world has errors and comes from a file that no setting names
 */
export async function explainWorldErrors<Value>(
  { world: path, databaseUrl }: Pick<Config, 'world' | 'databaseUrl'>,
  file: ParsedFile<World> | undefined,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    const { variable, flag } = names('world')
    if (error instanceof AnotherWorldError) {
      const got = path ? `got ${show(path)}, which is` : file ? 'got' : 'is not set, which means'
      throw new ConfigError(
        `${variable} (${flag}) ${got} ${error.requested}, but the database has ${error.held}. ${remedyFor(databaseUrl)}`,
      )
    }
    if (!(error instanceof InvalidWorldError)) throw error
    const refusal = file?.refusal(error.path, error.reason)
    if (refusal !== undefined)
      throw path === undefined ? refusal : refusedFile('world', path, `cannot be used:\n${refusal.message}`)
    throw new ConfigError(
      `The world in the database cannot be used: its ${error.path.join('.')} ${error.reason.replace(/\.$/, '')}.`,
    )
  }
}
