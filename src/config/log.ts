import { writeSync } from 'node:fs'
import type { Logger as Pino } from 'pino'
import { maskSecrets } from '../core/masking.ts'
import { isSecretName } from '../core/secret-names.ts'
import type { LogLevel } from './settings.ts'
import { terminalLine } from './terminal-lines.ts'

export type LogFields = Readonly<Record<string, unknown>>
export type Severity = 'debug' | 'info' | 'warn' | 'error'

/** The logger of the service and the MCP server. The fields of a line come first, then its message. */
export type Logger = Readonly<Record<Severity, (fields: LogFields, message: string) => void>>

/** The process's own logger. `flush` resolves when all lines so far are written; await it before `process.exit`. */
export interface ProcessLogger extends Logger {
  flush(): Promise<void>
}

interface LoggerOptions {
  level: LogLevel
  /**
   * Whether a person reads the log. Lines are then words instead of JSON, and every call gets a line. In JSON, only
   * changes and refusals get one.
   */
  terminal?: boolean
}

/**
 * Creates a logger of JSON lines on stderr (stdout belongs to stdio MCP), with secrets removed. pino is loaded with the
 * first line, because the start of a stdio server must not wait for it. Lines keep their order meanwhile.
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
    // The line is cleaned at once, so that it records the state at the time of logging.
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
 * How many lines wait while pino loads, which takes tens of milliseconds. Lines beyond these are counted and dropped.
 */
const waitingLimit = 1_000

const removed = '[removed]'

async function openPino(level: LogLevel, terminal: boolean): Promise<Pino> {
  // A bundled CommonJS package has only the default export.
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

/** Bounds on a logged value: its depth, and the entries at each level. A log line is not a dump. */
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
