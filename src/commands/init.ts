import { writeFile } from 'node:fs/promises'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { worldTemplate } from '../worlds/template.ts'
import { commandLine } from './own-start.ts'

/** Writes a world file to begin with. What is there already stays as it is. */
export async function init(file: string): Promise<void> {
  if (file === '-') {
    process.stdout.write(worldTemplate(file))
    return
  }
  try {
    await writeFile(file, worldTemplate(file), { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    const reason = code === 'EEXIST' ? 'exists already and stays as it is' : `cannot be written (${code})`
    throw new ConfigError(`init got ${show(file)}, which ${reason}; it accepts the name of a new file.`)
  }
  process.stdout.write(
    `${file} is written. Change it, and start with it on a new database:\n\n  ${commandLine('serve', ['--world', file, '--database-url', 'sqlite::memory:'])}\n`,
  )
}
