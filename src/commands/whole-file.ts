import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
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

/** Replaces a file whole or not at all, where a link leads to one too. Its mode stays; a new file is its user's alone. */
export async function writeWhole(path: string, { before, next }: { before: string; next: string }): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  const beside = `${target}.payments-mcp`
  await rm(beside, { force: true })
  const file = await open(beside, 'wx', mode)
  try {
    await file.writeFile(next)
    await file.sync()
  } finally {
    await file.close()
  }
  // A host that runs writes its own file too: what it wrote since is not lost.
  if ((await readWhole(target)) === before) return await rename(beside, target)
  await rm(beside, { force: true })
  throw Object.assign(new Error('it was changed meanwhile: run this again'), { code: 'ECHANGED' })
}
