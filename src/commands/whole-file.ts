import { constants, copyFile, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The text of a file; empty where there is none. */
export async function readWhole(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/**
 * Replaces a file whole or not at all, where a link leads to one too. Its mode stays; a new file is its user's alone.
 * @returns the path of a copy of the file as it was; undefined if there was none
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
  const beside = `${target}.payments-mcp`
  await rm(beside, { force: true })
  await writeFile(beside, next, { flag: 'wx', mode, flush: true })
  // A host that runs writes its own file too: what it wrote since is not lost.
  if ((await readWhole(target)) === before) {
    const copy = before === '' ? undefined : await copyBeside(target)
    await rename(beside, target)
    return copy
  }
  await rm(beside, { force: true })
  throw Object.assign(new Error('it was changed meanwhile: run this again'), { code: 'ECHANGED' })
}

/** Copies a file with its mode. The copy of an earlier time gives way: only the server's own entry differs. */
async function copyBeside(target: string): Promise<string> {
  const copy = `${target}.payments-mcp-backup`
  await rm(copy, { force: true })
  await copyFile(target, copy, constants.COPYFILE_EXCL)
  return copy
}
