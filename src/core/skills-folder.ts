import { packageFolder } from './package-folder.ts'

/** Returns the folder of the package's skills. */
export function skillsFolder(): string {
  const folder = packageFolder('skills')
  if (folder === undefined) throw new Error('Bug: the package has no skills.')
  return folder
}
