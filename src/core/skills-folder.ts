import { packagePath } from './package-path.ts'

/** Returns the folder of the package's skills. */
export function skillsFolder(): string {
  const folder = packagePath('skills')
  if (folder === undefined) throw new Error('Bug: the package has no skills.')
  return folder
}
