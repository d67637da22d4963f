import { spawn } from 'node:child_process'
import { deadline } from '../core/system.ts'

/** The program that opens an address in the user's browser, by platform. */
const programs: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a web page. Passes the address as one argument to a fixed program, without a shell. */
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

/** Opens a web page; resolves with false if the program soon reports a failure. */
export async function tryOpenBrowser(address: URL): Promise<boolean> {
  const opened = Promise.withResolvers<boolean>()
  openBrowser(address, () => opened.resolve(false))
  const late = deadline(failureTimeoutMs, () => opened.resolve(true))
  const isOpen = await opened.promise
  late.clear()
  return isOpen
}
