import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { skillsFolder } from '../core/skills-folder.ts'
import { readFileIfExists, replaceFileAtomically } from './atomic-file.ts'

/** The result of copying the skills into a host's folder. */
export interface CopiedSkills {
  /** The names of the skills that were new or had changed. */
  copied: string[]
  /** The paths of the backup copies of replaced files. */
  backups: string[]
}

/** Returns the names of the package's skills. */
export async function skillNames(): Promise<string[]> {
  return (await readdir(skillsFolder())).sort()
}

/** Copies the package's skills into a host's folder, and makes a backup copy of each file that it replaces. */
export async function copySkills(folder: string): Promise<CopiedSkills> {
  const result: CopiedSkills = { copied: [], backups: [] }
  for (const name of await skillNames()) {
    const path = join(folder, name, 'SKILL.md')
    const before = await readFileIfExists(path)
    const next = await readFile(join(skillsFolder(), name, 'SKILL.md'), 'utf8')
    if (next === before) continue
    const backup = await replaceFileAtomically(path, { before, next })
    result.copied.push(name)
    if (backup !== undefined) result.backups.push(backup)
  }
  return result
}
