import { readFile, stat } from 'node:fs/promises'
import { maxBytes } from './parse-file.ts'

interface ReadErrors {
  /** The reason to pass to `createError` if the file does not exist. */
  missing: string
  /** Creates the error for a file that cannot be read. @param reason completes the sentence “got …, which …” */
  createError: (reason: string) => Error
}

/** Reads a text file whose path comes from the user. @throws the error that `createError` returns */
export async function readText(path: string, { missing, createError }: ReadErrors): Promise<string> {
  const bytes = await bytesOf(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw createError(missing)
    throw createError(error.code === 'EISDIR' ? 'is a folder.' : `cannot be read (${error.code}).`)
  })
  if (bytes === undefined) throw createError('is larger than 1 MiB.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw createError('is not valid UTF-8.')
  }
}

async function bytesOf(path: string): Promise<Uint8Array | undefined> {
  const { size } = await stat(path)
  return size > maxBytes ? undefined : await readFile(path)
}
