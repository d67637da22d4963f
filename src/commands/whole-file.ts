import { constants, copyFile, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Reads a text file; returns an empty text if it does not exist. */
export async function readWhole(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/**
 * Replaces a file as a whole or not at all, even if the path is a link. Its mode stays; a new file is readable only by
 * the user.
 * @returns the path of a copy of the previous file; undefined if there was no file
 */
export async function writeWhole(
  path: string,
  { before, next }: { before: string; next: string },
): Promise<string | undefined> {
  await mkdir(dirname(path), { recursive: true })
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  const temporary = `${target}.payments-mcp`
  await rm(temporary, { force: true })
  await writeFile(temporary, next, { flag: 'wx', mode, flush: true })
  // A running host writes its own file too, and its changes since then must not be lost.
  if ((await readWhole(target)) === before) {
    const copy = before === '' ? undefined : await keepCopy(target)
    await rename(temporary, target)
    return copy
  }
  await rm(temporary, { force: true })
  throw Object.assign(new Error('it has changed in the meantime: run this again'), { code: 'ECHANGED' })
}

/** Copies a file with its mode. Replaces an earlier copy, which differs only in the server's own entry. */
async function keepCopy(target: string): Promise<string> {
  const copy = `${target}.payments-mcp-backup`
  await rm(copy, { force: true })
  await copyFile(target, copy, constants.COPYFILE_EXCL)
  return copy
}
