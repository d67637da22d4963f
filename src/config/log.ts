import { writeSync } from 'node:fs'
import type { Logger as Pino } from 'pino'
import { maskSecrets } from '../core/masking.ts'
import { isSecretName } from '../core/secret-names.ts'
import type { LogLevel } from './settings.ts'
import { terminalLine } from './terminal-lines.ts'

export type LogFields = Readonly<Record<string, unknown>>
export type Severity = 'debug' | 'info' | 'warn' | 'error'

/** The logger of the service and the MCP server. Each method takes the fields of a line and then its message. */
export type Logger = Readonly<Record<Severity, (fields: LogFields, message: string) => void>>

/** The process's own logger. `flush` resolves when all previous lines are written; await it before `process.exit`. */
export interface ProcessLogger extends Logger {
  flush(): Promise<void>
}

interface LoggerOptions {
  level: LogLevel
  /**
   * Whether a person reads the log. If so, lines are plain text, and at level `info` every call is logged. If not,
   * lines are JSON, and at level `info` only changes and refusals are logged.
   */
  terminal?: boolean
}

/**
 * Creates a logger that masks secrets. It writes to stderr, because the MCP server over stdio uses stdout. The package
 * pino is loaded when the first line is logged, so that startup does not wait for it. Until pino is loaded, lines are
 * held in order.
 */
export function createLogger({ level, terminal = false }: LoggerOptions): ProcessLogger {
  let pino: Pino | undefined
  let loading: Promise<void> | undefined
  let dropped = 0
  const waiting: { severity: Severity; fields: Record<string, unknown>; message: string }[] = []

  async function load() {
    pino = await openPino(logsCalls ? 'debug' : level, terminal)
    for (const { severity, fields, message } of waiting) pino[severity](fields, message)
    if (dropped > 0) pino.warn({ dropped }, 'lines were dropped while the logger was loading')
    waiting.length = 0
  }

  function write(severity: Severity, fields: LogFields, message: string) {
    // Copies and cleans the fields immediately, because the objects in them may change before the line is written.
    const line = { severity, fields: cleanFields(fields), message: maskSecrets(message) }
    if (pino !== undefined) return pino[severity](line.fields, line.message)
    if (waiting.length < waitingLimit) waiting.push(line)
    else dropped += 1
    loading ??= load()
  }

  const logsCalls = terminal && level === 'info'
  const logCall = (fields: LogFields, message: string) => {
    if ('operation' in fields) write('debug', fields, message)
  }
  const logAt = (severity: Severity) =>
    ranks[severity] < ranks[level] ? () => {} : (fields: LogFields, message: string) => write(severity, fields, message)
  return {
    debug: logsCalls ? logCall : logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    flush: async () => loading,
  }
}

const ranks = { trace: 0, debug: 1, info: 2, warn: 3, error: 4, fatal: 5, silent: 6 } as const satisfies Record<
  LogLevel,
  number
>

/**
 * The maximum number of lines that are held while pino loads, which takes tens of milliseconds. Further lines are
 * dropped and counted.
 */
const waitingLimit = 1_000

const removed = '[removed]'

async function openPino(level: LogLevel, terminal: boolean): Promise<Pino> {
  // In a bundle, a CommonJS package has only a default export.
  const { default: pino } = await import('pino')
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    terminal
      ? { write: (line: string) => writeSync(2, terminalLine(line)) }
      : pino.destination({ dest: 2, sync: true }),
  )
}

/** The maximum nesting of a logged value, and the maximum size of each object or array in it, to keep lines short. */
const depthLimit = 6
const entriesLimit = 100

function cleanFields(fields: LogFields): Record<string, unknown> {
  return clean(fields, 0) as Record<string, unknown>
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskSecrets(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= depthLimit) return '[cut]'
  if (value instanceof Error) return cleanError(value, depth)
  if (Array.isArray(value)) return value.slice(0, entriesLimit).map((item) => clean(item, depth + 1))
  const entries = Object.entries(value).slice(0, entriesLimit)
  return Object.fromEntries(
    entries.map(([name, field]) => [name, isSecretName(name) ? removed : clean(field, depth + 1)]),
  )
}

function cleanError(error: Error, depth: number) {
  const { name, message, stack, cause } = error
  const code = 'code' in error ? { code: error.code } : {}
  return clean({ name, message, stack, ...code, ...(cause === undefined ? {} : { cause }) }, depth)
}
