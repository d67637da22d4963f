import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signInWithBrowser } from '../../src/auth/browser-sign-in.ts'
import type { SignInOptions } from '../../src/auth/sign-in.ts'
import { createTokenStore, type Login } from '../../src/auth/token-store.ts'
import { createRemoteFetch } from '../../src/client/remote.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'
import { createPerson, type Person } from './person.ts'
import { type PlainProvider, type PlainProviderOptions, startPlainProvider } from './plain-provider.ts'

/** The setup of a sign-in test: an empty data directory, an authorization server, and a person who signs in there. */
export interface SignInWorld extends SignInOptions {
  system: FakeSystem
  provider: PlainProvider
  person: Person
  directory: string
  /** Called after each sleep that is shorter than a minute. */
  onPause: () => Promise<unknown>
  /** Signs in. If `replaceCallback` returns an address, the browser opens that address instead of the callback. */
  signIn(replaceCallback?: (callback: URL) => Promise<string | undefined>): Promise<{ page: Response | undefined }>
  stored(): Promise<Login>
  close(): Promise<void>
}

export async function createSignInWorld(options: PlainProviderOptions = {}): Promise<SignInWorld> {
  const directory = join(mkdtempSync(join(tmpdir(), 'payments-login-')), 'payments-mcp')
  const provider = await startPlainProvider(options)
  const remote = createRemoteFetch()
  const person = createPerson()
  const clock = fakeSystem()
  const system: FakeSystem = {
    ...clock,
    // A sleep of a minute or more lasts until it is aborted. A shorter sleep advances the fake clock and takes no time.
    sleep: async (ms, signal) => {
      if (ms >= 60_000) return await waitForAbort(signal)
      await clock.sleep(ms, signal)
      await world.onPause()
    },
  }
  const store = createTokenStore({ directory, system })
  const world: SignInWorld = {
    baseUrl: provider.issuer,
    store,
    system,
    fetch: remote.fetch,
    provider,
    person,
    directory,
    onPause: async () => {},
    signIn: async (replaceCallback = async () => undefined) => {
      let browsing: Promise<Response> | undefined
      const browse = async (address: URL) => {
        const callback = await person.signIn(address.href)
        return await fetch((await replaceCallback(callback)) ?? callback)
      }
      await signInWithBrowser(world, (address) => {
        browsing = browse(address)
      })
      return { page: await browsing }
    },
    stored: async () => {
      const login = (await store.read()).logins[provider.issuer]
      if (login === undefined) throw new Error('There is no login')
      return login
    },
    close: async () => {
      await remote.close()
      await provider.close()
      rmSync(join(directory, '..'), { recursive: true, force: true })
    },
  }
  return world
}

function waitForAbort(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Returns the claims of a JWT without verifying its signature. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}
