import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { noTraces, tracesOf } from '../adversary/traces.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type AccountKind, addPlayed, invite, payUnknown, requestPayment, type Stage } from './played.ts'

/** A page that is sent to a party, and the form fields that answer the page. */
interface PageAnswer {
  /** Creates the page and returns its path. */
  createPage(stage: Stage): Promise<string>
  fields: { decision: string; [name: string]: string }
  /** Whether the answer agrees to something. To agree, a person must have signed in with a password. */
  agrees: boolean
}

const pathOf = (url: unknown) => new URL(String(url)).pathname
const createInvitation = async (stage: Stage) => pathOf((await invite(stage)).attributes.url)
const createRequest = async (stage: Stage) => pathOf((await requestPayment(stage)).attributes.paymentLinkUrl)
const createPartyInvitation = async ({ site: { world }, played, player }: Stage) => {
  const invitations = [{ email: played.email, role: 'MEMBER' }]
  const { json } = await world.post('/party-invitations', { invitations }, { key: player.apiKey })
  return pathOf(json.data[0].attributes.url)
}
const card = { number: '4242424242424242', expiry: '12/34', cvv: '123' }

/**
 * Maps each route that accepts a form to the answers that a visitor can give there for a party. A route without such
 * answers is mapped to a string instead: the party, person or application that the route acts for. A test fails if a
 * route has no entry.
 */
const routes: Record<string, readonly PageAnswer[] | string> = {
  'POST /connect/:token': [
    { createPage: createInvitation, fields: { decision: 'accept' }, agrees: true },
    { createPage: createInvitation, fields: { decision: 'decline' }, agrees: false },
  ],
  'POST /claim/:token': [
    {
      createPage: async (stage) => pathOf((await payUnknown(stage)).attributes.claimLink),
      fields: { decision: 'claim' },
      agrees: true,
    },
  ],
  'POST /request/:token': [
    { createPage: createRequest, fields: { decision: 'card', ...card }, agrees: true },
    { createPage: createRequest, fields: { decision: 'decline' }, agrees: false },
  ],
  'POST /join/:token': [{ createPage: createPartyInvitation, fields: { decision: 'decline' }, agrees: false }],
  'POST /connect/links/:token': 'a new test customer',
  'POST /checkout/session': 'a payer who is not a party',
  'POST /checkout/pay': 'a payer who is not a party',
  'POST /checkout/stop': 'a payer who is not a party',
  'POST /shops/:shopId': 'the party whose agent buys, identified by the token of the checkout',
  'POST /shops/checkouts/:token': 'the party whose agent buys, identified by the token of the checkout',
  'POST /shops/orders/:token': 'the party whose agent bought, identified by the token of the order',
  'POST /sign-in': 'the user whose password is entered',
  'POST /sign-in/once/:code': 'the owner for whom the command line created the link',
  'POST /sign-out': 'the user who is signed in',
  'POST /verify/:challenge': 'the user who is signed in',
  'POST /second-factor': 'the user who is signed in',
  'POST /cards/:token': 'the user who is signed in',
  'POST /approvals/:approvalId/review': 'the user who is signed in',
  'POST /console/sandbox/:action': 'the user who is signed in',
  'POST /decide/:decisionId': 'the user who is signed in',
  'POST /connections/:grantId': 'the user who is signed in',
  'POST /connections/new/application': 'the user who is signed in',
  'POST /connections/new/identity-provider': 'the user who is signed in',
  'POST /oauth/token': 'the application that has the grant',
  'POST /oauth/register': 'an application',
  'POST /oauth/introspect': 'an application',
  'POST /oauth/revoke': 'an application',
  'POST /oauth/device/authorize': 'an application',
  'POST /oauth/device': 'the user who enters the code of a device',
  'POST /oauth/consent/:uid': 'the user who is signed in',
}

const answers = Object.entries(routes).flatMap(([route, entry]) =>
  typeof entry === 'string' ? [] : entry.map((one) => [`decision=${one.fields.decision} to ${route}`, one] as const),
)

onEachDatabase('pages that are sent to a party', (database) => {
  let site: PersonSite
  beforeAll(async () => {
    site = await createPersonSite(database)
  })
  afterAll(() => site.world.drop())

  const stageOf = async (kind: AccountKind): Promise<Stage> => {
    const { agentKey, apiKey, whoami } = site.world
    const { partyId, agentId } = await whoami()
    const player = { partyId, agentId: agentId ?? '', agentKey, apiKey }
    return { site, player, played: await addPlayed(site, kind) }
  }
  /** Opens a page, and returns the hidden fields of its form. */
  const fieldsOf = async (visitor: Visitor, path: string) => {
    const { text } = await visitor.open(path)
    const start = text.indexOf(`action="${path}"`)
    const form = text.slice(start, text.indexOf('</form>', start))
    const hidden = form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)
    return Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value]))
  }

  test('every route that accepts a form has an entry in the table', () => {
    const operations = new Set(
      Object.values<OperationDefinition>(catalogue).map(
        ({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
      ),
    )
    const posts = site.world.service.routes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => /^(POST|PUT|PATCH|DELETE) /.test(route) && !operations.has(route))
    expect(Object.keys(routes).sort()).toEqual([...new Set(posts)].sort())
  })

  test.each(answers)("only a self-managed party's own users can send %s", async (_, { createPage, fields, agrees }) => {
    const stage = await stageOf('a user with a password')
    const { user } = stage.played
    if (user === undefined) throw new Error('The party has no user.')
    const path = await createPage(stage)
    const person = await site.visitor(user)
    const form = { ...(await fieldsOf(person, path)), ...fields }
    expect(form).toHaveProperty('formToken')
    const strangers = {
      'a visitor who is not signed in': await site.visitor(),
      'the owner of the party that sent the page': await site.visitor(site.owner),
    }
    for (const [name, visitor] of Object.entries(strangers)) {
      const page = await visitor.open(path)
      expect(page.text, name).not.toContain(`action="${path}"`)
      const left = await tracesOf(site.world, undefined, async () => {
        expect((await visitor.post(path, form)).status, name).toBe(403)
      })
      expect(left, name).toEqual(noTraces)
    }
    if (agrees) {
      const setOneClick = (oneClick: 0 | 1) =>
        site.world.store.transaction(async ({ db }) => {
          await db.updateTable('signInSessions').set({ oneClick }).where('userId', '=', user.id).execute()
        })
      await setOneClick(1)
      const left = await tracesOf(site.world, undefined, async () => {
        expect((await person.post(path, form)).status).toBe(403)
      })
      expect(left).toEqual(noTraces)
      await setOneClick(0)
    }
    expect((await person.post(path, form)).status).toBe(303)
    expect((await person.open(path)).text).not.toContain(`action="${path}"`)
  })

  test.each(answers.filter(([name]) => !name.includes('/join/')))(
    'nobody can send %s for a party that has only an API key',
    async (_, { createPage, fields }) => {
      const stage = await stageOf('an API key')
      const path = await createPage(stage)
      for (const visitor of [await site.visitor(), await site.visitor(site.owner)]) {
        expect((await visitor.post(path, fields)).status).toBe(403)
        expect((await visitor.open(path)).text).not.toContain(`action="${path}"`)
      }
    },
  )

  test.each(answers)(
    'anyone with the link can send %s for a party without accounts',
    async (_, { createPage, fields }) => {
      const path = await createPage(await stageOf('nobody'))
      const visitor = await site.visitor()
      await visitor.open(path)
      expect((await visitor.send(path, fields)).status).toBe(303)
    },
  )
})
