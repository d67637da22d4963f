import { constants, copyFile, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Reads a text file. Returns an empty string if it does not exist. */
export async function readFileIfExists(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/**
 * Replaces a file completely or not at all. If the path is a symbolic link, replaces the file that the link points to.
 * Preserves the file's mode; a new file is readable only by the user.
 * @returns the path of a copy of the previous file; undefined if there was no file
 */
export async function replaceFileAtomically(
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
  // A running AI host may have changed the file since `before` was read. Such changes must not be lost.
  if ((await readFileIfExists(target)) === before) {
    const copy = before === '' ? undefined : await keepCopy(target)
    await rename(temporary, target)
    return copy
  }
  await rm(temporary, { force: true })
  throw Object.assign(new Error('it was changed in the meantime: run this command again'), { code: 'ECHANGED' })
}

/** Copies a file, including its mode, to a backup next to it. Replaces an earlier backup. */
async function keepCopy(target: string): Promise<string> {
  const copy = `${target}.payments-mcp-backup`
  await rm(copy, { force: true })
  await copyFile(target, copy, constants.COPYFILE_EXCL)
  return copy
}
