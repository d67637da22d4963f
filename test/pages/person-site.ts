import { Hono } from 'hono'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import type { TestDatabase } from '../support/databases.ts'
import type { WorldOptions } from '../support/world.ts'
import { createOAuthSite, createVisitor, type OAuthSite, type Visitor } from './oauth-site.ts'

/** The whole service, and visitors that act like browsers. */
export interface PersonSite extends Pick<OAuthSite, 'world' | 'owner' | 'addUser' | 'sessionOf'> {
  /** Creates a visitor that is signed in as the user, or signed out if `user` is omitted. */
  visitor(user?: UserRow): Promise<Visitor>
  /** Returns the owner's email address and password. The first call sets a password and ends the owner's sessions. */
  signInFields(): Promise<{ email: string; password: string }>
}

export async function createPersonSite(database: TestDatabase, options: WorldOptions = {}): Promise<PersonSite> {
  const { world, owner, addUser, sessionOf } = await createOAuthSite(database, options)
  const app = new Hono().all('*', (c) => world.service.fetch(c.req.raw))
  let seeded: Promise<{ password: string | null }> | undefined
  return {
    world,
    signInFields: async () => {
      seeded ??= world.service.seedPassword(undefined)
      return { email: owner.email, password: String((await seeded).password) }
    },
    owner,
    addUser,
    sessionOf,
    visitor: async (user) => createVisitor(app, user === undefined ? {} : { session: await sessionOf(user) }),
  }
}

/** Replaces the form tokens and the given parts of a page with “…”, so that pages can be compared. */
export function withoutTokens(text: string, ...parts: string[]): string {
  return parts.reduce((rest, part) => rest.replaceAll(part, '…'), text.replace(/\b[0-9a-f]{64}\b/g, '…'))
}
