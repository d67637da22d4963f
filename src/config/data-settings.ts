import { everyCommandBut, type Setting } from './setting.ts'
import { parseDatabaseUrl, parseInteger, parsePath, parsePostgresUrl, parseSecrets } from './values.ts'

/** The settings of the embedded sandbox's data: its location and its initial content. */
export const dataSettings = {
  /** The database's address: `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. */
  databaseUrl: {
    placeholder: 'url',
    meaning: 'Database of the embedded sandbox',
    accepts: 'sqlite:PATH, sqlite::memory:, postgres://… or postgresql://…',
    default: {
      otherwise: "a file in the user's data directory",
      value: ({ environment, dataFile }) => `sqlite:${dataFile(`${environment}.sqlite`)}`,
    },
    readBy: everyCommandBut('bridge', 'login', 'logout'),
    parse: parseDatabaseUrl,
  },
  /** The path of the world file. If it is undefined, an empty database gets the package's own world. */
  world: {
    placeholder: 'file',
    meaning: 'World file that the embedded sandbox starts from (payments-mcp init writes one)',
    accepts: 'the path of a YAML or JSON file, for the embedded sandbox only',
    default: { otherwise: "the package's own world, if the database is empty" },
    readBy: ['stdio', 'setup', 'serve', 'console', 'simulate', 'whoami', 'listen', 'doctor'],
    parse: parsePath,
  },
  /** The path of the file with fault rules; undefined if there is none. */
  faults: {
    placeholder: 'file',
    meaning: 'File with rules that make requests to the embedded sandbox fail on purpose',
    accepts: 'the path of a YAML or JSON file, for the embedded sandbox only',
    default: { otherwise: 'only rules that set_sandbox_fault sets' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: parsePath,
  },
  /** The address of a PostgreSQL standby from which lists are read; undefined if there is no standby. */
  databaseReadUrl: {
    placeholder: 'url',
    meaning: 'A standby of the PostgreSQL database, to read lists from',
    accepts: 'postgres://… or postgresql://…, if PAYMENTS_DATABASE_URL is a PostgreSQL address too',
    default: { otherwise: 'lists are read from the database itself' },
    readBy: ['stdio', 'setup', 'serve', 'console'],
    parse: parsePostgresUrl,
  },
  databaseConnections: {
    placeholder: 'number',
    meaning: 'Maximum number of PostgreSQL connections for writes in each process; reads use up to ten more',
    accepts: 'an integer from 2 to 1000',
    default: { text: '10' },
    readBy: ['stdio', 'setup', 'serve', 'console'],
    parse: (text) => parseInteger(text, 2, 1000),
  },
  /** The secrets that encrypt the keys in the database, the current secret first. */
  secret: {
    placeholder: 'secret',
    meaning:
      'Secret that encrypts the keys in the database; to change it, give the new secret, a comma and the old secret',
    accepts: 'one or two secrets of 32 to 256 visible ASCII characters without commas',
    default: { otherwise: 'the keys in the database are not encrypted' },
    secret: true,
    readBy: everyCommandBut('bridge', 'setup', 'login', 'logout'),
    parse: parseSecrets,
  },
} as const satisfies Record<string, Setting>
