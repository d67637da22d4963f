import type { z } from 'zod'
import { ConfigError, loadConfig } from '../config/load.ts'
import { type Config, type LogLevel, names } from '../config/settings.ts'
import { nearest } from '../core/nearest.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World, worldSchema } from '../worlds/schema.ts'

/** Every option has a default. */
export interface SandboxOptions {
  /** The path of a world file, its text (YAML or JSON), or the object that it would hold; or else the package's own. */
  world?: string | z.input<typeof worldSchema> | undefined
  /** The port on 127.0.0.1; 0, the default, is any free one, and with false only `fetch` reaches the sandbox. */
  port?: number | false | undefined
  /** `sqlite::memory:`, the default, `sqlite:PATH` or `postgres://…`. */
  database?: string | undefined
  /** The least level that is logged, to stderr; by default nothing is. */
  logLevel?: LogLevel | undefined
}

/** The settings that options stand for. */
const settingOf = { world: 'world', port: 'port', database: 'databaseUrl', logLevel: 'logLevel' } as const satisfies {
  [Option in keyof SandboxOptions]-?: keyof Config
}

/** As settings, with nothing of this process's environment. @throws ConfigError, and TypeError for what is no option. */
export function configOf({ world, port, database, logLevel, ...unknown }: SandboxOptions): Config {
  const options = Object.keys(settingOf)
  for (const name of Object.keys(unknown)) {
    const advice = `did you mean ${nearest(name, options) ?? options.join(' or ')}?`
    throw new TypeError(`createSandbox: ${name} is no option; ${advice}`)
  }
  const flags = {
    world: isPath(world) ? world : undefined,
    port: String(port || 0),
    databaseUrl: database ?? 'sqlite::memory:',
    logLevel: logLevel ?? 'silent',
    // A test suite is quicker than any agent. The fault `error` with the code `rate_limited` plays the limit.
    rateLimit: '1000000000',
  }
  return loadConfig({ env: {}, flags })
}

/** The world where no file is named. @throws WorldFileError with a line for each mistake. */
export async function worldOf({ world }: SandboxOptions): Promise<ParsedFile<World> | undefined> {
  if (world === undefined || isPath(world)) return undefined
  return (await import('../worlds/parse.ts')).parseWorldFile(world, 'world')
}

/** A text that says anything has lines, or the braces of JSON. */
function isPath(world: SandboxOptions['world']): world is string {
  return typeof world === 'string' && !/[\n{]/.test(world)
}

/** Tells what is wrong with a setting by the option that it stands for. */
export function byOption(error: unknown): unknown {
  if (!(error instanceof ConfigError)) return error
  const message = Object.entries(settingOf).reduce((text, [option, setting]) => {
    const { variable, flag } = names(setting)
    return text.replaceAll(`${variable} (${flag})`, option)
  }, error.message)
  return new TypeError(`createSandbox: ${message}`, { cause: error })
}
