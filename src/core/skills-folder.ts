import { packagePath } from './package-path.ts'

/** Returns the path of the folder that contains the package's skills. */
export function skillsFolder(): string {
  const folder = packagePath('skills')
  if (folder === undefined) throw new Error('Bug: the package has no folder named skills.')
  return folder
}
