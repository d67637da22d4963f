import { resolve } from 'node:path'
import { ConfigError } from '../config/load.ts'
import { type Config, names } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { AnotherWorldError } from '../service/seed.ts'
import { WorldMistakeError } from '../worlds/mistake.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'
import { refusedFile } from './given-file.ts'

/** Does what fills an empty database with the world of the file. @throws ConfigError */
export async function orExplainWorld<Value>(
  { world: path, databaseUrl }: Pick<Config, 'world' | 'databaseUrl'>,
  file: ParsedFile<World> | undefined,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    const { variable, flag } = names('world')
    if (error instanceof AnotherWorldError) {
      const given = path === undefined ? 'nothing' : show(path)
      throw new ConfigError(`${variable} (${flag}) got ${given}. ${error.message} ${anotherDatabase(databaseUrl)}`)
    }
    if (!(error instanceof WorldMistakeError)) throw error
    if (file !== undefined && path !== undefined)
      throw refusedFile('world', path, `cannot be used:\n${file.refusal(error.path, error.message).message}`)
    throw new ConfigError(`The world in the database cannot be used: its ${error.path.join('.')} ${error.message}.`)
  }
}

/** How a start with another world comes about. */
function anotherDatabase(databaseUrl: string): string {
  const path = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
  const begin = path === undefined ? '' : `, or delete ${resolve(path)} while nothing runs on it, and all that is in it`
  return `Another database: PAYMENTS_DATABASE_URL (--database-url)${begin}.`
}
