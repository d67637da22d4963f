/**
 * The proof of identity that a route requires before it acts for a person.
 * - `nothing`: no proof, because the route does not act for a particular person.
 * - `secret`: a secret identifies the person, for example a token in the URL or a card number in the form.
 * - `session`: the person is signed in. A sign-in with one click is enough.
 * - `proven`: the person signed in with a password or a one-time link, or used a second factor in this session.
 */
export type Level = 'nothing' | 'secret' | 'session' | 'proven'

/**
 * The level that each answer in a form requires. `field` is the form field with the answer. `answers` maps some values
 * of this field to their levels, and `otherwise` is the level of all other values.
 */
export interface LevelsByAnswer {
  field: string
  answers: Readonly<Record<string, Level>>
  otherwise: Level
}

/** Returns the levels of a decision form in which the answer `no` requires `session`, and all others `proven`. */
const unlessNo = <No extends string>(no: No) =>
  ({ field: 'decision', answers: { [no]: 'session' }, otherwise: 'proven' }) as const

/**
 * The level that each route for people requires (docs/service.md#proof-of-identity). Actions such as approving,
 * consenting, paying from a wallet and setting up an authenticator app require `proven`, and so do pages that show a
 * card or a secret. For these, `session` is not enough, because an agent on the same machine can sign in with one
 * click. Saying no never requires `proven`. A route can be mounted only by its key in this table, so every route has a
 * level.
 */
export const pageNeeds = {
  'GET /': 'nothing',
  'GET /sign-in': 'nothing',
  'POST /sign-in': 'nothing',
  'GET /sign-in/once/:code': 'secret',
  'POST /sign-in/once/:code': 'secret',
  'POST /sign-out': 'nothing',
  // A payer needs no account: the card number is the secret.
  'GET /checkout/form': 'nothing',
  'POST /checkout/session': 'secret',
  'POST /checkout/pay': 'secret',
  'POST /checkout/stop': 'secret',
  'GET /checkout/manage/:manageToken': 'secret',
  'GET /checkout/:subscriptionId/:pageToken': 'secret',
  'GET /checkout/:subscriptionId': 'nothing',
  // A recipient without an account has only the link. If the recipient's account is self-managed, one of its users must
  // also sign in.
  'GET /connect/:token': 'secret',
  'POST /connect/:token': 'secret',
  'GET /connect/links/:token': 'secret',
  'POST /connect/links/:token': 'secret',
  'GET /claim/:token': 'secret',
  'POST /claim/:token': 'secret',
  // No agent gets the link to join a party, because only users and API keys can invite members.
  'GET /join/:token': 'secret',
  'POST /join/:token': 'secret',
  'GET /request/:token': 'secret',
  'POST /request/:token': { field: 'decision', answers: { card: 'secret', decline: 'secret' }, otherwise: 'proven' },
  'GET /shops': 'nothing',
  'GET /shops/:shopId': 'nothing',
  // Opening a checkout moves no money.
  'POST /shops/:shopId': 'nothing',
  'GET /shops/checkouts/:token': 'secret',
  'POST /shops/checkouts/:token': 'secret',
  'GET /shops/orders/:token': 'secret',
  'POST /shops/orders/:token': 'secret',
  // Users prove their identity on this page, with a code from the authenticator app. Other users cannot open the page.
  'GET /verify/:challenge': 'session',
  'POST /verify/:challenge': 'session',
  'GET /second-factor': 'proven',
  'POST /second-factor': 'proven',
  'GET /cards/:token': 'proven',
  'POST /cards/:token': 'proven',
  'GET /approvals/:approvalId/review': 'session',
  'POST /approvals/:approvalId/review': unlessNo('deny'),
  'GET /decisions': 'session',
  'GET /decide/:decisionId': 'session',
  'POST /decide/:decisionId': unlessNo('no'),
  'GET /oauth/consent/:uid': 'session',
  'POST /oauth/consent/:uid': unlessNo('deny'),
  'GET /connections': 'session',
  // The form can only remove permissions.
  'POST /connections/:grantId': 'session',
  // An application that is registered here can act as an agent without a person. The page shows the application's
  // secret.
  'GET /connections/new/application': 'proven',
  'POST /connections/new/application': 'proven',
  'GET /connections/new/identity-provider': 'proven',
  'POST /connections/new/identity-provider': 'proven',
  'GET /console': 'session',
  'GET /console/find': 'session',
  'GET /console/requests/:id': 'session',
  'GET /console/records/:recordId': 'session',
  'GET /console/search': 'session',
  'GET /console/runs/:runId': 'session',
  'GET /console/runs/:runId/entries/:entryId': 'session',
  'GET /console/runs/:runId/report': 'session',
  'GET /console/money': 'session',
  'GET /console/money/wallets/:walletId': 'session',
  'GET /console/sandbox': 'session',
  // In a world with `rehearsal: true`, the buttons require the level `proven` (mayManage).
  'POST /console/sandbox/:action': 'session',
  'GET /console/stream': 'session',
  'GET /console/*': 'session',
} as const satisfies Readonly<Record<string, Level | LevelsByAnswer>>

export type PageRoute = keyof typeof pageNeeds

/** Returns the level that a route requires for the submitted answer. `fieldValue` returns the value of a form field. */
export function levelFor(route: PageRoute, fieldValue: (field: string) => string | null): Level {
  const need: Level | LevelsByAnswer = pageNeeds[route]
  if (typeof need === 'string') return need
  const answer = fieldValue(need.field) ?? ''
  return Object.hasOwn(need.answers, answer) ? (need.answers[answer] ?? need.otherwise) : need.otherwise
}

/** Returns the GET route that serves a path of this site; undefined if there is none. */
export function pageAt(path: string): PageRoute | undefined {
  const parts = path.split('?')[0]?.split('/') ?? []
  return (Object.keys(pageNeeds) as PageRoute[]).find((route) => {
    const [method, pattern = ''] = route.split(' ')
    const named = pattern.split('/')
    const fits = named.every((name, at) => name === parts[at] || (name.startsWith(':') && parts[at] !== ''))
    return method === 'GET' && named.length === parts.length && fits
  })
}
