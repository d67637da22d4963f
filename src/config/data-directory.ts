import { posix, win32 } from 'node:path'

/** Returns the folder for a user's payments-mcp data, and a function that returns a file's path in that folder. */
export function directoryOf(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
  home: string,
) {
  const { join, isAbsolute } = platform === 'win32' ? win32 : posix
  // XDG Base Directory Specification: a relative path is invalid and ignored.
  const absolute = (path: string | undefined) => (path !== undefined && isAbsolute(path) ? path : undefined)
  const parent =
    platform === 'win32'
      ? (absolute(env.LOCALAPPDATA) ?? join(home, 'AppData', 'Local'))
      : platform === 'darwin'
        ? join(home, 'Library', 'Application Support')
        : (absolute(env.XDG_DATA_HOME) ?? join(home, '.local', 'share'))
  const path = join(parent, 'payments-mcp')
  return { path, file: (name: string) => join(path, name) }
}
