import { spawn } from 'node:child_process'
import { deadline } from '../core/system.ts'

/** The programs that open an address in the browser, with their first arguments. Other platforms use `xdg-open`. */
const programs: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a web page. Runs a fixed program without a shell, which could run parts of the address as commands. */
export function openBrowser(address: URL, onFailure: () => void): void {
  if (address.protocol !== 'https:' && address.protocol !== 'http:') {
    onFailure()
    return
  }
  const [program, ...args] = programs[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, address.href], { stdio: 'ignore', detached: true, shell: false })
  child.once('error', onFailure)
  child.once('exit', (code) => {
    if (code !== 0) onFailure()
  })
  child.unref()
}

/** How long to wait for the program to report that it cannot open the address. */
const failureTimeoutMs = 2_000

/** Opens a web page. Resolves to false if the program fails within `failureTimeoutMs`, otherwise to true. */
export async function tryOpenBrowser(address: URL): Promise<boolean> {
  const opened = Promise.withResolvers<boolean>()
  openBrowser(address, () => opened.resolve(false))
  const late = deadline(failureTimeoutMs, () => opened.resolve(true))
  const isOpen = await opened.promise
  late.clear()
  return isOpen
}
