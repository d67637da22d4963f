import { access } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { type UserMachine, userMachine } from '../config/load.ts'
import { type HostName, type HostSetup, hostNames, hostSetups } from '../core/host-setups.ts'
import { readFileIfExists } from './atomic-file.ts'
import { serverIn, UnreadableFile } from './edit-host-file.ts'
import { bad, type Finding, note, ok } from './finding.ts'
import { hostFiles } from './host-files.ts'
import { commandLine } from './start-command.ts'

/**
 * Checks that the settings file of each AI host can be read. If the file has an entry for this server, checks that the
 * absolute paths in the entry's command exist.
 */
export async function checkHosts(): Promise<Finding[]> {
  const machine = userMachine()
  const found = (await Promise.all(hostNames.map((name) => checkHost(name, machine)))).filter(
    (one) => one !== undefined,
  )
  if (found.length > 0) return found
  return [note('AI hosts', 'none is set up', `${commandLine('setup')} adds this server to a host.`)]
}

/** Checks one host; returns undefined if the host's file has no entry for this server. */
async function checkHost(name: HostName, machine: UserMachine): Promise<Finding | undefined> {
  const host: HostSetup = hostSetups[name]
  const path = hostFiles[name].path(machine)
  const setupCommand = `${commandLine('setup')} ${name}`
  let server: Record<string, unknown> | undefined
  try {
    server = serverIn(host, await readFileIfExists(path))
  } catch (error) {
    if (error instanceof UnreadableFile) {
      return bad(host.title, `${path}: ${error.message}`, `Fix the file: ${host.title} cannot read it.`)
    }
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return bad(host.title, `${path} cannot be read (${code})`, 'Give yourself permission to read it.')
  }
  if (server === undefined) return undefined
  const missingPath = await missingFile(server)
  if (missingPath !== undefined)
    return bad(host.title, `${path} starts ${missingPath}, which does not exist`, `Fix this with: ${setupCommand}`)
  return ok(host.title, `set up in ${path}`)
}

/**
 * Returns the first nonexistent absolute path in the command and its arguments. Skips words that are not absolute
 * paths.
 */
async function missingFile({ command, args }: Record<string, unknown>): Promise<string | undefined> {
  const words = [command, args].flat().filter((word) => typeof word === 'string')
  for (const word of words.filter(isAbsolute)) {
    try {
      await access(word)
    } catch {
      return word
    }
  }
  return undefined
}
