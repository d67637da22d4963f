import { resolve } from 'node:path'
import { ConfigError } from '../config/load.ts'
import { type Config, names, type SettingKey } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'

/**
 * Reads the configured world file. Returns undefined if no world file is configured.
 * @throws ConfigError with a line for each mistake in the file
 */
export async function openWorldFile({ world: path }: Pick<Config, 'world'>): Promise<ParsedFile<World> | undefined> {
  if (path === undefined) return undefined
  const { parseWorldFile } = await import('../worlds/parse.ts')
  return openSettingFile('world', path, parseWorldFile)
}

/**
 * Reads and parses the file that a setting names. Imports the code for this only when called, because most starts read
 * no file.
 * @throws ConfigError with a line for each mistake in the file
 */
export async function openSettingFile<Value>(
  setting: SettingKey,
  path: string,
  parse: (text: string, name: string) => Value,
): Promise<Value> {
  const [{ WorldFileError }, { readText }] = await Promise.all([
    import('../worlds/parse-file.ts'),
    import('../worlds/read-text.ts'),
  ])
  const missing = `does not exist${setting === 'world' ? '; payments-mcp init FILE writes one' : ''}.`
  const text = await readText(path, { missing, createError: (reason) => refusedFile(setting, path, reason) })
  try {
    return parse(text, path)
  } catch (error) {
    throw error instanceof WorldFileError ? refusedFile(setting, path, `cannot be used:\n${error.message}`) : error
  }
}

/** Creates the error for a setting whose file cannot be used. */
export function refusedFile(setting: SettingKey, path: string, reason: string): ConfigError {
  const { variable, flag } = names(setting)
  return new ConfigError(`${variable} (${flag}) got ${show(path)}, which ${reason}`)
}

/** Returns the advice for a start with a world that differs from the world in the database. */
export function remedyFor(databaseUrl: string): string {
  const path = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
  const remove = path === undefined ? '' : `, or delete ${resolve(path)} and all its data while no process uses it`
  return `Start with the world in the database, or with another database: PAYMENTS_DATABASE_URL (--database-url)${remove}.`
}
