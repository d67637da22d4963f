import { chmod, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Failure } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { System } from '../core/system.ts'
import { withFileLock } from './file-lock.ts'

const Login = z.object({
  /** The authorization server that issued the tokens. */
  issuer: z.string(),
  /** The client that the tokens were issued to. */
  clientId: z.string(),
  /** The resource that the access token is for (RFC 8707). */
  resource: z.string(),
  accessToken: z.string(),
  obtainedAtMs: z.number(),
  expiresAtMs: z.number(),
  /**
   * Null if the server issued no refresh token. The login then ends when its access token expires, unless the login has
   * a `proofFile`.
   */
  refreshToken: z.string().nullable(),
  /**
   * The path of the file with the application's secret or private key; absent if a person signed in at the
   * authorization server.
   */
  proofFile: z.string().optional(),
  /** The company's identity provider, if the application acts for a person who signed in there. */
  company: z
    .object({
      idp: z.string(),
      idpClientId: z.string(),
      idpProofFile: z.string().optional(),
      idTokenFile: z.string(),
    })
    .optional(),
})

const Content = z.object({
  version: z.literal(1),
  /** This program's client ids, keyed by issuer. */
  clients: z.record(z.string(), z.object({ clientId: z.string() })),
  /** The logins, keyed by the base address of the payments API. */
  logins: z.record(z.string(), Login),
})

export type Login = z.infer<typeof Login>
export type Logins = Omit<z.infer<typeof Content>, 'version'>

/**
 * Returns whether a login can be renewed without a person: with its refresh token, or with the application's secret or
 * key.
 */
export const isRenewable = ({ refreshToken, proofFile }: Login) => refreshToken !== null || proofFile !== undefined

export interface TokenStore {
  readonly path: string
  read(): Promise<Logins>
  /**
   * Runs `work` with the content of the store, which no other process can change meanwhile. `write` replaces the whole
   * content.
   */
  exclusively<T>(work: (stored: Logins, write: (next: Logins) => Promise<void>) => Promise<T>): Promise<T>
}

/** Creates the store of the user's logins: one file, readable by the user only and shared by the user's processes. */
export function createTokenStore({ directory, system }: { directory: string; system: System }): TokenStore {
  const path = join(directory, 'login.json')
  return {
    path,
    read: () => explainFileErrors(path, () => read(path)),
    exclusively: (work) =>
      explainFileErrors(path, async () => {
        await makePrivate(directory)
        return await withFileLock(path, system, async () => work(await read(path), (next) => write(path, next)))
      }),
  }
}

/** Whether files have Unix permissions. Windows protects a user's data by other means. */
const hasModes = process.platform !== 'win32'
/** The size limit of the file: room for thousands of logins. A larger file counts as damaged. */
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
    detail: `${path} is damaged, or from another version of payments-mcp: delete it and run payments-mcp login again.`,
  })
}

/**
 * Reads the file; returns undefined if it does not exist. First removes other users' access to the file, because
 * restoring a backup may have granted such access.
 */
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

/**
 * Writes a new file, then renames it to `path`. A crash halfway through writing to `path` itself would lose the logins.
 */
async function write(path: string, logins: Logins): Promise<void> {
  const next = `${path}.next`
  await rm(next, { force: true })
  const text = `${JSON.stringify({ version: 1, ...logins }, null, 2)}\n`
  await writeFile(next, text, { flag: 'wx', mode: 0o600, flush: true })
  await rename(next, path)
}

/** Runs `work`. Converts an error of the file system to a `Failure` that states the path. */
async function explainFileErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
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

/** Returns a failure that asks the person to sign in with `payments-mcp login`, or to set a key. */
export function signInNeeded(baseUrl: string, why: string): Failure {
  return new Failure('unauthenticated', {
    detail: `${why} at ${baseUrl}: run payments-mcp login --base-url ${baseUrl}, or set PAYMENTS_KEY to an API key or agent key and start again.`,
  })
}
