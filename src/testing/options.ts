import type { z } from 'zod'
import { ConfigError, loadConfig } from '../config/load.ts'
import { type Config, type LogLevel, names } from '../config/settings.ts'
import { nearestWord } from '../core/spelling.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World, worldSchema } from '../worlds/schema.ts'

/** The options of `createSandbox`. */
export interface SandboxOptions {
  /**
   * The path of a world file, or its content as a string (YAML or JSON) or an object (docs/worlds.md). Amounts are
   * whole cents. Default: the package's own world.
   */
  world?: string | z.input<typeof worldSchema> | undefined
  /**
   * The port on 127.0.0.1; 0 picks any free port. If false, no port is opened, and requests can be sent only with the
   * sandbox's `fetch` method. Default: 0.
   */
  port?: number | false | undefined
  /** `sqlite::memory:`, `sqlite:PATH` or `postgres://…`. Default: `sqlite::memory:`. */
  database?: string | undefined
  /** The lowest level that is logged to stderr. Default: nothing is logged. */
  logLevel?: LogLevel | undefined
}

/** The setting that each option sets. */
const settingOf = { world: 'world', port: 'port', database: 'databaseUrl', logLevel: 'logLevel' } as const satisfies {
  [Option in keyof SandboxOptions]-?: keyof Config
}

/**
 * Converts options to settings, ignoring this process's environment.
 * @throws ConfigError for an invalid value, TypeError for an unknown option
 */
export function configOf({ world, port, database, logLevel, ...unknown }: SandboxOptions): Config {
  const options = Object.keys(settingOf)
  for (const name of Object.keys(unknown)) {
    const advice = `did you mean ${nearestWord(name, options) ?? options.join(' or ')}?`
    throw new TypeError(`createSandbox: ${name} is not an option; ${advice}`)
  }
  const flags = {
    world: isPath(world) ? world : undefined,
    port: String(port || 0),
    databaseUrl: database ?? 'sqlite::memory:',
    logLevel: logLevel ?? 'silent',
    // A limit that no test suite reaches. To test rate limiting, use the fault `error` with the code `rate_limited`.
    rateLimit: '1000000000',
  }
  return loadConfig({ env: {}, flags })
}

/** Parses the option `world` unless it is a path. @throws WorldFileError with one line for each mistake */
export async function parseWorldOption({ world }: SandboxOptions): Promise<ParsedFile<World> | undefined> {
  if (world === undefined || isPath(world)) return undefined
  return (await import('../worlds/parse.ts')).parseWorldFile(world, 'world')
}

/** Returns whether the option is a path. Unlike a path, the content of a world file has line breaks or braces. */
function isPath(world: SandboxOptions['world']): world is string {
  return typeof world === 'string' && !/[\n{]/.test(world)
}

/** Replaces the names of settings in an error message with the names of the options. */
export function withOptionNames(error: unknown): unknown {
  if (!(error instanceof ConfigError)) return error
  const message = Object.entries(settingOf).reduce((text, [option, setting]) => {
    const { variable, flag } = names(setting)
    return text.replaceAll(`${variable} (${flag})`, option)
  }, error.message)
  return new TypeError(`createSandbox: ${message}`, { cause: error })
}
