import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signInWithBrowser } from '../../src/auth/browser-sign-in.ts'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { directoryOf } from '../../src/config/data-directory.ts'
import { realSystem } from '../../src/core/system.ts'
import { connect, consent, createApplication } from '../oauth/application.ts'
import { openBrowser, type Reachable } from '../oauth/browser.ts'
import type { Served } from '../oauth/served.ts'

/** Wraps a service so that calls go over the network. */
const overNetwork = ({ world }: Served): Reachable => {
  const { signInLink } = world.service
  return { service: { fetch: (request) => fetch(request), signInLink } }
}

/**
 * Signs an application in at the MCP endpoint. A person allows the application to act as their agent. Returns the
 * application's access token.
 */
export async function signInHost(served: Served): Promise<string> {
  const { url } = served
  const at = overNetwork(served)
  const application = await createApplication(at, {}, `${url}/mcp`, url)
  const { tokens } = await connect(at, { application, browser: openBrowser(at, url) })
  return tokens.access_token
}

/**
 * Creates a home directory, and signs in there as `payments-mcp login` does, with a person's consent. Returns the path
 * of the directory.
 */
export async function homeWithLogin(served: Served): Promise<string> {
  const { url } = served
  const home = emptyHome()
  const { path } = directoryOf({ XDG_DATA_HOME: home }, process.platform, home)
  const store = createTokenStore({ directory: path, system: realSystem })
  const browser = openBrowser(overNetwork(served), url)
  let agreed: Promise<unknown> | undefined
  const answer = async (address: URL) => fetch((await consent(browser, address.href)).url)
  await signInWithBrowser({ baseUrl: url, store, system: realSystem, fetch }, (address) => {
    agreed = answer(address)
  })
  await agreed
  return home
}

export function emptyHome(): string {
  return mkdtempSync(join(tmpdir(), 'payments-home-'))
}
