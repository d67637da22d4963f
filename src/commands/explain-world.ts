import { ConfigError } from '../config/load.ts'
import { type Config, names } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { AnotherWorldError } from '../service/seed.ts'
import { InvalidWorldError } from '../worlds/invalid-world.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'
import { refusedFile, remedyFor } from './setting-file.ts'

/**
 * Runs work that fills an empty database with a world. If the world cannot be used, the error mentions the setting that
 * names the world's file.
 * @throws ConfigError, or WorldFileError if the world has errors and no setting names its file
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
