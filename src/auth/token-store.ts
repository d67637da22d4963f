import { chmod, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Failure } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { System } from '../core/system.ts'
import { withFileLock } from './file-lock.ts'

const Login = z.object({
  /** The authorization server that gave the tokens, and the client it gave them to. */
  issuer: z.string(),
  clientId: z.string(),
  /** What the access token is for (RFC 8707). */
  resource: z.string(),
  accessToken: z.string(),
  /** Milliseconds since the epoch. */
  obtainedAtMs: z.number(),
  expiresAtMs: z.number(),
  /** Null where the server gives none: the login ends with its access token. */
  refreshToken: z.string().nullable(),
})

const Content = z.object({
  version: z.literal(1),
  /** The id this program was registered with, by issuer: an id is worth nothing at another one. */
  clients: z.record(z.string(), z.object({ clientId: z.string() })),
  /** By the base address of the payments API. */
  logins: z.record(z.string(), Login),
})

export type Login = z.infer<typeof Login>
export type Logins = Omit<z.infer<typeof Content>, 'version'>

export interface TokenStore {
  readonly path: string
  read(): Promise<Logins>
  /** Runs `work` with what is stored now, while no other process can change it; `write` replaces all of it. */
  exclusively<T>(work: (stored: Logins, write: (next: Logins) => Promise<void>) => Promise<T>): Promise<T>
}

/** The logins of this user: one file that only they can read, shared by all processes that they run. */
export function createTokenStore({ directory, system }: { directory: string; system: System }): TokenStore {
  const path = join(directory, 'login.json')
  return {
    path,
    read: () => readable(path, () => read(path)),
    exclusively: (work) =>
      readable(path, async () => {
        await makePrivate(directory)
        return await withFileLock(path, system, async () => work(await read(path), (next) => write(path, next)))
      }),
  }
}

/** Windows keeps a user's data from others by other means than modes. */
const hasModes = process.platform !== 'win32'
/** Thousands of logins; a larger file is none of ours. */
const largestBytes = 4 * 1024 * 1024

async function makePrivate(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (hasModes && ((await stat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700)
}

async function read(path: string): Promise<Logins> {
  const text = await readPrivate(path)
  if (text === undefined) return { clients: {}, logins: {} }
  const parsed = Content.safeParse(parseJson(text))
  if (parsed.success) return { clients: parsed.data.clients, logins: parsed.data.logins }
  throw new Failure('unauthenticated', {
    detail: `${path} is damaged or of another version of payments-mcp: delete it and run payments-mcp login again.`,
  })
}

/** A file that others can read, a copy that was put back for one, is closed to them before it is used. */
async function readPrivate(path: string): Promise<string | undefined> {
  const file = await openExisting(path)
  if (file === undefined) return undefined
  try {
    const { mode, size } = await file.stat()
    if (hasModes && (mode & 0o077) !== 0) await file.chmod(0o600)
    return size > largestBytes ? '' : await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function openExisting(path: string) {
  try {
    return await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Whole or not at all: a refresh token that is half written is a login lost. */
async function write(path: string, logins: Logins): Promise<void> {
  const next = `${path}.next`
  await rm(next, { force: true })
  const text = `${JSON.stringify({ version: 1, ...logins }, null, 2)}\n`
  await writeFile(next, text, { flag: 'wx', mode: 0o600, flush: true })
  await rename(next, path)
}

/** What the file system refuses is for the person to mend: it is told with the path, and without the content. */
async function readable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (error instanceof Failure || syscall === undefined) throw error
    throw new Failure('service_unavailable', {
      detail: `The logins in ${path} cannot be used (${code}): check that you may read and write it and its folder.`,
    })
  }
}

/** Tells what to run: nothing here opens a browser by itself. */
export function signInNeeded(baseUrl: string, why: string): Failure {
  return new Failure('unauthenticated', {
    detail: `${why} at ${baseUrl}: run payments-mcp login --base-url ${baseUrl}, or set PAYMENTS_KEY to an API key or agent key and start again.`,
  })
}
