import { chmod, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Failure } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { System } from '../core/system.ts'
import { withFileLock } from './file-lock.ts'

const Login = z.object({
  /** The authorization server that issued the tokens, and the client that they belong to. */
  issuer: z.string(),
  clientId: z.string(),
  /** The resource that the access token is for (RFC 8707). */
  resource: z.string(),
  accessToken: z.string(),
  /** Milliseconds since the epoch. */
  obtainedAtMs: z.number(),
  expiresAtMs: z.number(),
  /** Null if the server issues no refresh token: the login then expires with its access token. */
  refreshToken: z.string().nullable(),
  /** The file with the secret or private key of an application that signs in by itself. The file itself is not copied. */
  proofFile: z.string().optional(),
  /** The company's identity provider that vouches for the application's person. Its files are not copied either. */
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
  /** The client id of this program at each issuer. */
  clients: z.record(z.string(), z.object({ clientId: z.string() })),
  /** The logins, keyed by the base address of the payments API. */
  logins: z.record(z.string(), Login),
})

export type Login = z.infer<typeof Login>
export type Logins = Omit<z.infer<typeof Content>, 'version'>

export interface TokenStore {
  readonly path: string
  read(): Promise<Logins>
  /** Runs `work` on the stored content, while no other process can change it; `write` replaces all of it. */
  exclusively<T>(work: (stored: Logins, write: (next: Logins) => Promise<void>) => Promise<T>): Promise<T>
}

/** Creates the store of this user's logins: one file that only they can read, shared by all their processes. */
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
/** The size of thousands of logins; a larger file is not ours. */
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

/** Reads the file after removing the access of other users, in case a readable copy was restored from a backup. */
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

/** Writes the whole file or nothing: a half-written refresh token is a lost login. */
async function write(path: string, logins: Logins): Promise<void> {
  const next = `${path}.next`
  await rm(next, { force: true })
  const text = `${JSON.stringify({ version: 1, ...logins }, null, 2)}\n`
  await writeFile(next, text, { flag: 'wx', mode: 0o600, flush: true })
  await rename(next, path)
}

/** Reports an error of the file system with the path, so that the person can fix it, but without the content. */
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

/** Returns a failure that names the command to run. Only that command opens a browser. */
export function signInNeeded(baseUrl: string, why: string): Failure {
  return new Failure('unauthenticated', {
    detail: `${why} at ${baseUrl}: run payments-mcp login --base-url ${baseUrl}, or set PAYMENTS_KEY to an API key or agent key and start again.`,
  })
}
