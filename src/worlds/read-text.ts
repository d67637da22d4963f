import { readFile, stat } from 'node:fs/promises'
import { mostBytes } from './parse-file.ts'

interface Reading {
  /** Why it is refused where there is no such file. */
  missing: string
  /** @param reason goes on after “which” */
  refused: (reason: string) => Error
}

/** The text of a file that somebody named. @throws what `refused` makes of the reason. */
export async function readText(path: string, { missing, refused }: Reading): Promise<string> {
  const bytes = await bytesOf(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw refused(missing)
    throw refused(error.code === 'EISDIR' ? 'is a folder.' : `cannot be read (${error.code}).`)
  })
  if (bytes === undefined) throw refused('has more than 1 MiB.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refused('is no text in UTF-8.')
  }
}

async function bytesOf(path: string): Promise<Uint8Array | undefined> {
  const { size } = await stat(path)
  return size > mostBytes ? undefined : await readFile(path)
}
