import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { monthAndYear, sha256 } from '../../src/core/system.ts'
import type { ActivityRow } from '../../src/service/store/schema/activity.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { doorGrounds, type Grounds } from '../adversary/doors.ts'
import { tracesOf } from '../adversary/traces.ts'
import { codeAt, secretIn } from '../approvals/authenticator.ts'
import { trust } from '../credentials/requests.ts'
import { grounds, type Grounds as OperationGrounds } from '../isolation/places.ts'
import { send } from '../isolation/prober.ts'
import { permittedStatus, samples } from '../isolation/samples.ts'
import { connect, createApplication } from '../oauth/application.ts'
import { openBrowser } from '../oauth/browser.ts'
import { cardFor, pay, startCheckout } from '../shops/shopping.ts'
import { sqlite } from '../support/databases.ts'
import type { World } from '../support/world.ts'

/** Checks that every route that makes a change records the change in the activity, with the right actor. */

const operations = Object.entries<OperationDefinition>(catalogue) as [OperationKey, OperationDefinition][]
const changing = operations.filter(([, { effect }]) => effect !== 'read')

/** Runs `act`, and returns the activity rows that it added. */
async function activityAddedBy({ store }: World, act: () => Promise<unknown>) {
  const activity = () =>
    store.transaction(({ db }) => db.selectFrom('activity').selectAll().orderBy('sequence').execute())
  const before = new Set((await activity()).map(({ id }) => id))
  await act()
  return (await activity()).filter(({ id }) => !before.has(id))
}

/** Returns the names of the tables that `act` changed, except the tables of activity and idempotency records. */
async function tablesChangedBy(world: World, act: () => Promise<unknown>) {
  const { added, removed } = await tracesOf(world, undefined, act)
  const tables = new Set([...added, ...removed].map((row) => row.slice(0, row.indexOf(':'))))
  return [...tables].filter((table) => !/^(activity\w*|idempotencyRecords)$/.test(table))
}

const operationAndActor = ({ operation, actorType, userId, agentId, keyId }: ActivityRow) => ({
  operation,
  actor: `${actorType} ${userId ?? agentId ?? keyId}`,
})

describe('the activity of operations', () => {
  let on: OperationGrounds

  beforeAll(async () => {
    on = await grounds(sqlite)
  }, 60_000)
  afterAll(() => on.world.drop())

  test.each(changing)('the operation %s adds one activity entry, which shows who called it', async (key, operation) => {
    const { own, granted } = on.places
    const sample = samples[key]
    const ids = await sample.make(on, sample.reach === 'connected' ? granted : own)
    const asAgent = sample.who === 'agents'
    const credential = on.credentials[asAgent ? 'agent key' : 'party key with all scopes']
    const { keyId } = await on.world.whoami(credential)
    const added = await activityAddedBy(on.world, async () => {
      const answer = await send(on, operation, sample, { key: credential, ids })
      expect(answer.status, answer.text).toBe(permittedStatus(operation, sample))
    })
    expect(added.map(({ operation, actorType, agentId, keyId }) => ({ operation, actorType, agentId, keyId }))).toEqual(
      [
        {
          operation: operation.name,
          actorType: asAgent ? 'agent' : 'party',
          agentId: asAgent ? own.agentId : null,
          keyId,
        },
      ],
    )
  })
})

/**
 * A function that prepares a change. `act` makes the change; `entries` are the activity entries that the change must
 * add.
 */
type Change = (
  on: Grounds,
) => Promise<{ act: () => Promise<unknown>; entries: readonly [operation: string, actor: string][] }>

const idIn = (path: string) => path.split('/')[2] ?? ''
const card = { number: '4242424242424242', expiry: '12/34', cvv: '123' }

const json = ({ site }: Grounds, path: string, attributes: object) =>
  site.world.service.fetch(
    new Request(`http://127.0.0.1:4010${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ data: { attributes } }),
    }),
  )

/**
 * Returns a change that submits a page's form. If `visitorActor` is omitted, the signed-in owner submits the form;
 * otherwise, a visitor who is not signed in submits it. `visitorActor` gets the id of the record that the page's link
 * opens, and returns the expected actor.
 */
const formChange =
  (
    path: (on: Grounds) => string,
    fields: Record<string, string>,
    operation: string,
    visitorActor?: (recordId: string) => string,
  ): Change =>
  async (on) => {
    const visitor = await on.site.visitor(visitorActor === undefined ? on.site.owner : undefined)
    await visitor.open(path(on))
    const actor = visitorActor === undefined ? `user ${on.site.owner.id}` : visitorActor(await recordAt(on, path(on)))
    return { act: () => visitor.send(path(on), fields), entries: [[operation, actor]] }
  }

const tableByPath: Record<string, 'paymentRequests' | 'partyInvitations'> = {
  request: 'paymentRequests',
  join: 'partyInvitations',
}

/** Returns the id of the record that a secret link opens. `path` is the path of the link. */
async function recordAt({ site: { world } }: Grounds, path: string): Promise<string> {
  const tokenHash = sha256(path.split('/').at(-1) ?? '')
  if (path.startsWith('/claim')) {
    const payment = world.store.transaction(({ db }) =>
      db.selectFrom('payments').select('id').where('claimTokenHash', '=', tokenHash).executeTakeFirstOrThrow(),
    )
    return (await payment).id
  }
  const [, first = '', second] = path.split('/')
  const table = second === 'links' ? 'invitationLinks' : (tableByPath[first] ?? 'customerInvitations')
  return world.store.transaction(async ({ db }) => {
    const row = db.selectFrom(table).select('id').where('tokenHash', '=', tokenHash)
    return (await row.executeTakeFirstOrThrow()).id
  })
}

/** The owner's authenticator app. Its secret is empty until a test below enrolls the app. */
const authenticator = { secret: '' }

const visitor = (id: string) => `visitor ${id}`

const changes: Record<string, Record<string, Change>> = {
  'POST /checkout/pay': {
    'a payer pays at a checkout': async (on) => ({
      act: () => json(on, '/checkout/pay', { clientSecret: on.clientSecret, ...card }),
      entries: [['pay_checkout', visitor(idIn(on.links.checkout))]],
    }),
  },
  'POST /checkout/stop': {
    'a payer stops a subscription': async (on) => {
      const manageToken = on.links.manage.split('/').at(-1) ?? ''
      const id = manageToken.split('_manage_')[0] ?? ''
      return { act: () => json(on, '/checkout/stop', { manageToken }), entries: [['stop_subscription', visitor(id)]] }
    },
  },
  'POST /connect/:token': {
    'an invited customer accepts': formChange(
      ({ links }) => links.invitation,
      { decision: 'accept' },
      'accept_customer_invitation',
      visitor,
    ),
  },
  'POST /connect/links/:token': {
    'a visitor becomes a customer through an invitation link': formChange(
      ({ links }) => links.invitationLink,
      { decision: 'accept' },
      'join_invitation_link',
      visitor,
    ),
  },
  'POST /claim/:token': {
    'a recipient claims a payment': formChange(
      ({ links }) => links.claim,
      { decision: 'claim' },
      'claim_payment',
      visitor,
    ),
  },
  'POST /request/:token': {
    'a visitor pays a payment request by card': formChange(
      ({ links }) => links.paymentRequest,
      { decision: 'card', ...card },
      'pay_payment_request',
      visitor,
    ),
  },
  'POST /join/:token': {
    'an invited member declines': formChange(
      ({ links }) => links.partyInvitation,
      { decision: 'decline' },
      'decline_party_invitation',
      visitor,
    ),
  },
  'POST /cards/:token': {
    'a person views a card number': formChange(({ links }) => links.card, {}, 'show_agent_card'),
  },
  'POST /approvals/:approvalId/review': {
    'a person denies a payment': formChange(({ paths }) => paths.approval, { decision: 'deny' }, 'deny_approval'),
  },
  'POST /decide/:decisionId': {
    'a person approves a tool call': formChange(({ paths }) => paths.decision, { decision: 'yes' }, 'agree_to_call'),
  },
  'POST /console/sandbox/:action': {
    'a person saves the sandbox': async (on) => {
      const visitor = await on.site.visitor(on.site.owner)
      await visitor.open('/console/sandbox')
      const act = () => visitor.send('/console/sandbox/save', { name: 'by-a-form' })
      return { act, entries: [['save_sandbox', `user ${on.site.owner.id}`]] }
    },
  },
  'POST /connections/:grantId': {
    'a person ends a connection': async (on) => {
      const visitor = await on.site.visitor(on.site.owner)
      await visitor.open('/connections')
      const act = () => visitor.send(on.paths.connection, { action: 'revoke' })
      return { act, entries: [['end_connection', `user ${on.site.owner.id}`]] }
    },
    'a person removes permissions from a connection': async (on) => {
      const { world, owner } = on.site
      const scope = 'payments:read cards:agent offline_access'
      await connect(world, { scope })
      const visitor = await on.site.visitor(owner)
      const page = await visitor.open('/connections')
      const action = /action="(\/connections\/ogr_[0-9a-f]{32})"/.exec(page.text)?.[1] ?? ''
      const act = () => visitor.send(action, { action: 'narrow', scope: 'payments:read' })
      return { act, entries: [['narrow_connection', `user ${owner.id}`]] }
    },
  },
  'POST /connections/new/application': {
    'a person registers an application': async (on) => {
      const agentId = String((await on.site.world.whoami()).agentId)
      const fields = { name: 'Worker', agentId, scope: 'payments:read' }
      return formChange(() => '/connections/new/application', fields, 'create_application')(on)
    },
  },
  'POST /connections/new/identity-provider': {
    'a person adds a trusted identity provider': async (on) => {
      const agentId = String((await on.site.world.whoami()).agentId)
      const fields = { ...trust, claim: 'sub', value: 'clerk', agentId, scope: 'payments:read' }
      return formChange(() => '/connections/new/identity-provider', fields, 'create_trusted_issuer')(on)
    },
  },
  'POST /second-factor': {
    'a person starts to set up an authenticator app': async ({ site }) => {
      const visitor = await site.visitor(site.owner)
      await visitor.open('/second-factor')
      const act = () => visitor.send('/second-factor', { step: 'begin' })
      return { act, entries: [['begin_second_factor', `user ${site.owner.id}`]] }
    },
    'a person finishes setting up an authenticator app': async ({ site }) => {
      const visitor = await site.visitor(site.owner)
      await visitor.open('/second-factor')
      const secret = secretIn(await visitor.send('/second-factor', { step: 'begin' }))
      authenticator.secret = secret
      const code = codeAt(secret, site.world.system.now() - 30_000)
      const act = () => visitor.send('/second-factor', { code })
      return { act, entries: [['enrol_second_factor', `user ${site.owner.id}`]] }
    },
  },
  'POST /verify/:challenge': {
    'a person enters a code from an authenticator app': async ({ site, links }) => {
      const user = site.owner
      const visitor = await site.visitor(user)
      await visitor.open(links.challenge)
      const act = () => visitor.send(links.challenge, { code: codeAt(authenticator.secret, site.world.system.now()) })
      return { act, entries: [['verify_second_factor', `user ${user.id}`]] }
    },
  },
  'POST /sign-in': {
    'a person signs in': async ({ site }) => {
      const visitor = await site.visitor()
      await visitor.open('/sign-in')
      const act = () => visitor.send('/sign-in', { as: 'owner' })
      return { act, entries: [['sign_in', `user ${site.owner.id}`]] }
    },
  },
  'POST /sign-in/once/:code': {
    'a person signs in with a one-time link': async ({ site }) => {
      const { pathname } = new URL(String(await site.world.service.signInLink('/console')))
      const visitor = await site.visitor()
      const act = () => visitor.post(pathname, { next: '/console' })
      return { act, entries: [['sign_in', `user ${site.owner.id}`]] }
    },
  },
  'POST /sign-out': {
    'a person signs out': async ({ site }) => {
      const visitor = await site.visitor(site.owner)
      await visitor.open('/connections')
      return { act: () => visitor.send('/sign-out'), entries: [['sign_out', `user ${site.owner.id}`]] }
    },
  },
  'POST /oauth/consent/:uid': {
    'a person connects an application that acts as an agent': async ({ site: { world, owner } }) => {
      const browser = openBrowser(world)
      await connect(world, { browser })
      return { act: () => connect(world, { browser }), entries: [['connect_application', `user ${owner.id}`]] }
    },
    'a person connects an application that acts as a new agent': async ({ site: { world, owner } }) => {
      const browser = openBrowser(world)
      await connect(world, { browser })
      const actor = `user ${owner.id}`
      const act = () => connect(world, { browser, choice: { agent: 'new', name: 'Made here' } })
      return {
        act,
        entries: [
          ['create_agent', actor],
          ['connect_application', actor],
        ],
      }
    },
  },
  'POST /oauth/revoke': {
    'an application ends its connection': async ({ site: { world } }) => {
      const { tokens, application } = await connect(world)
      const { agentId } = await world.whoami(tokens.access_token)
      const act = () =>
        form(world, '/oauth/revoke', { token: tokens.refresh_token, client_id: application.client.client_id })
      return { act, entries: [['end_connection', `agent ${agentId}`]] }
    },
  },
  'POST /oauth/token': {
    'a refresh token is used a second time': async ({ site: { world } }) => {
      const application = await createApplication(world)
      const { tokens } = await connect(world, { application })
      const { agentId } = await world.whoami(tokens.access_token)
      const refresh = () =>
        form(world, '/oauth/token', {
          grant_type: 'refresh_token',
          refresh_token: tokens.refresh_token,
          client_id: application.client.client_id,
        })
      expect((await refresh()).status).toBe(200)
      return { act: refresh, entries: [['end_connection', `agent ${agentId}`]] }
    },
  },
  'POST /shops/checkouts/:token': {
    'a visitor pays at a shop checkout, with no more than its link': async (on) => {
      const { month, year } = monthAndYear(on.site.world.system.now() + 60 * 60_000)
      const typed = { number: '4242424242424242', cvv: '123', expirationMonth: `${month}`, expirationYear: `${year}` }
      const fields = { action: 'pay', key: formKey(1), amount: '1800', ...typed }
      const { agentId } = await on.site.world.whoami()
      const { path } = await createShopCheckout(on)
      return {
        act: () => sameOriginForm(on.site.world, path, fields),
        entries: [['pay_shop_checkout', `agent ${agentId}`]],
      }
    },
  },
  'POST /shops/orders/:token': {
    'a visitor returns a shop order, with no more than its link': async (on) => {
      const { world } = on.site
      const { agentId } = await world.whoami()
      const { id, path } = await createShopCheckout(on)
      const { typed } = await cardFor(world, 'Plain Goods')
      expect((await pay(world, id, typed, 1800)).status).toBe(200)
      return {
        act: () => sameOriginForm(world, path.replace('checkouts', 'orders'), { key: formKey(2), reason: 'Too small' }),
        entries: [['return_shop_order', `agent ${agentId}`]],
      }
    },
  },
  'POST /shops/:shopId': {
    'a local visitor starts a shop checkout for the only party with agents': async ({ site: { world } }) => {
      const { partyId } = await world.whoami()
      await world.store.transaction(({ db }) =>
        db.updateTable('agents').set({ status: 'REVOKED' }).where('partyId', '<>', partyId).execute(),
      )
      const fields = { key: formKey(3), 'quantity.stoneware-mug': '1' }
      return {
        act: () => sameOriginForm(world, '/shops/plain-goods', fields),
        entries: [['start_shop_checkout', `party ${partyId}`]],
      }
    },
  },
}

const form = ({ service }: World, path: string, fields: Record<string, string>) =>
  service.fetch(new Request(`http://127.0.0.1:4010${path}`, { method: 'POST', body: new URLSearchParams(fields) }))

const formKey = (number: number) => `idk_${String(number).repeat(32)}`

/** Submits a form as a browser does on a page of this service. */
const sameOriginForm = ({ service }: World, path: string, fields: Record<string, string>) =>
  service.fetch(
    new Request(`http://127.0.0.1:4010${path}`, {
      method: 'POST',
      headers: { Origin: 'http://127.0.0.1:4010', 'Sec-Fetch-Site': 'same-origin' },
      body: new URLSearchParams(fields),
    }),
  )

/**
 * Starts a shop checkout as the agent, and issues a card for it. Returns the checkout's id and the path of the
 * checkout's page.
 */
async function createShopCheckout({ site: { world } }: Grounds): Promise<{ id: string; path: string }> {
  const { id, attributes } = await startCheckout(world, 'plain-goods', { items: [{ productId: 'stoneware-mug' }] })
  await cardFor(world, 'Plain Goods')
  return { id, path: new URL(attributes.url).pathname }
}

/**
 * The routes that change no party's data, although they are neither operations nor GET requests. Each value says why
 * the route is harmless.
 */
const harmless: Record<string, string> = {
  'POST /checkout/session': 'reads a checkout',
  'POST /oauth/register': 'stores the description of a client that belongs to no party yet',
  'POST /oauth/introspect': 'reads a token',
  'POST /oauth/device/authorize': 'starts a device sign-in that nobody has approved yet',
  'POST /oauth/device': 'finds a device sign-in by its code',
}

describe('the activity of routes that are not operations', () => {
  let on: Grounds

  beforeAll(async () => {
    on = await doorGrounds(sqlite)
    // One-click sign-in uses the owner with the lowest id. Ids created in the same millisecond have no fixed order, so
    // the stranger's id could be the lowest. To prevent this, the stranger must not be an owner.
    await on.site.world.store.transaction(({ db }) =>
      db.updateTable('users').set({ role: 'MEMBER' }).where('id', '=', on.stranger.id).execute(),
    )
  }, 60_000)
  afterAll(() => on.site.world.drop())

  test('every route that is neither an operation nor a GET request has an entry in this file', () => {
    const asOperations = new Set(
      operations.map(([, { method, path }]) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    )
    const routes = on.site.world.service.routes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !asOperations.has(route) && !/^(GET|OPTIONS|ALL) /.test(route))
    expect(new Set([...Object.keys(changes), ...Object.keys(harmless)])).toEqual(new Set(routes))
  })

  const cases = Object.entries(changes).flatMap(([route, changesOfRoute]) =>
    Object.entries(changesOfRoute).map(([name, change]) => [route, name, change] as const),
  )
  test.each(cases)('the activity shows who sent %s when %s', async (_route, _name, change) => {
    const { act, entries: expected } = await change(on)
    let changed: string[] = []
    const added = await activityAddedBy(on.site.world, async () => {
      changed = await tablesChangedBy(on.site.world, act)
    })
    expect(added.map(operationAndActor)).toEqual(expected.map(([operation, actor]) => ({ operation, actor })))
    expect(changed).not.toEqual([])
  })
})
