import { createHmac } from 'node:crypto'
import { newId, sha256 } from '../../src/core/system.ts'
import { insertSession } from '../../src/service/store/browser-sessions.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { created, type Payer, payer } from '../payments/payer.ts'
import type { FakeSystem } from '../support/fake-system.ts'
import { type Answer, addParty, addUserToken, type OtherParty, type World } from '../support/world.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/**
 * Returns the code that an authenticator app shows at the given time (RFC 4226, RFC 6238). The service uses a library
 * for these codes; the tests compare that library with this separate implementation.
 */
export function codeAt(base32: string, ms: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(ms / 30_000)))
  const mac = createHmac('sha1', decodeBase32(base32)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** Decodes a base32 string (RFC 4648). */
export function decodeBase32(base32: string): Buffer {
  const bits = [...base32].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** Returns a code that is wrong at every time step within 10 minutes of the given time. */
export function wrongCode(base32: string, ms: number): string {
  const near = new Set(Array.from({ length: 41 }, (_, index) => codeAt(base32, ms + (index - 20) * 30_000)))
  for (let code = 0; ; code++) {
    const text = String(code).padStart(6, '0')
    if (!near.has(text)) return text
  }
}

interface LoadedPage {
  status: number
  headers: Headers
  text: string
}

export interface Approver {
  userId: string
  key: string
  approve(approvalId: string, idempotencyKey?: string): Promise<Answer>
  /**
   * Tries to approve a large payment without a code. Returns the verification page's URL, which the refusal contains.
   */
  challenge(): Promise<string>
  /** The secret in the user's authenticator app. */
  secret: string
}

/** Functions for tests of approvals: they make payments, and act as users with a browser and an authenticator app. */
export interface ApprovalWorld {
  self: Payer
  other: OtherParty
  partyId: string
  /** Makes a payment that needs approval. `amount` is in cents, and must be more than 100. */
  review(amount: number): Promise<{ paymentId: string; approvalId: string }>
  /** Creates a user with an authenticator app. The current code of the app has not been used yet. */
  approver(): Promise<Approver>
  /** Creates a user without an authenticator app. */
  newcomer(): Promise<{ userId: string; key: string }>
  /**
   * Opens a page as the user with the id `userId`, by default the user whose id is in the URL. If `userId` is null, the
   * visitor is signed out.
   */
  open(url: string, userId?: string | null): Promise<LoadedPage>
  /** Sends a form to a page, with the form token that the page gave to this user. */
  send(url: string, fields: Record<string, string>, sent?: Sent): Promise<LoadedPage>
  /** Enters a code on the verification page at the URL. */
  submit(url: string, code: string, headers?: Record<string, string>): Promise<LoadedPage>
  /** Returns the secret in the app of the user whose id is in the URL. If the user has no app, sets one up first. */
  secretAt(url: string): Promise<string>
  /** Signs the user in. Returns the cookie of the new session. */
  cookieOf(userId: string): Promise<string>
}

interface Sent {
  userId?: string | null
  headers?: Record<string, string>
}

export const origin = 'http://127.0.0.1:4010'

export async function createApprovalWorld(world: World): Promise<ApprovalWorld> {
  const self = payer(world)
  const other = await addParty(world)
  const { partyId, agentId } = await world.whoami()
  await self.setLimits('agents', String(agentId), { perTransaction: 100 })
  const fetch = async (request: Request): Promise<LoadedPage> => {
    const response = await world.service.fetch(request)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const review: ApprovalWorld['review'] = async (amount) => {
    const paymentId = created(await self.pay(amount, { type: 'party_id', value: other.partyId }))
    return { paymentId, approvalId: (await self.approvalOf(paymentId)).id }
  }
  const cookies = new Map<string, string>()
  const secrets = new Map<string, string>()
  const cookieOf = async (userId: string) => {
    const secret = newId('session', world.system, world.system.now())
    const nowMs = world.system.now()
    const row = { idHash: sha256(secret), userId, createdAtMs: nowMs, expiresAtMs: nowMs + 365 * 86_400_000 }
    await world.store.transaction((tx) => insertSession(tx, row))
    return `payments_session=${secret}`
  }
  const cookieFor = async (userId: string | null): Promise<Record<string, string>> => {
    if (userId === null) return {}
    const cookie = cookies.get(userId) ?? (await cookieOf(userId))
    cookies.set(userId, cookie)
    return { Cookie: cookie }
  }
  /**
   * The last form token that each user got from each page. A token stays valid when the page no longer shows a form.
   */
  const tokens = new Map<string, string>()
  const open: ApprovalWorld['open'] = async (url, userId = userIn(url)) => {
    const page = await fetch(new Request(url, { headers: await cookieFor(userId) }))
    const token = /<main[\s\S]*?name="formToken" value="([^"]*)"/.exec(page.text)?.[1]
    if (token !== undefined) tokens.set(`${url} ${userId}`, token)
    return page
  }
  const send: ApprovalWorld['send'] = async (
    url,
    fields,
    { userId = userIn(url), headers = sameOriginHeaders } = {},
  ) => {
    if (!tokens.has(`${url} ${userId}`)) await open(url, userId)
    const formToken = tokens.get(`${url} ${userId}`) ?? ''
    const body = new URLSearchParams({ formToken, ...fields })
    return fetch(new Request(url, { method: 'POST', body, headers: { ...headers, ...(await cookieFor(userId)) } }))
  }
  const newcomer = async () => {
    const { userId, token } = await addUserToken(world, partyId)
    return { userId, key: token }
  }
  const enroll = async (userId: string) => {
    const address = `${origin}/second-factor`
    const secret = secretIn(await send(address, { step: 'begin' }, { userId }))
    const { status, text } = await send(address, { code: codeAt(secret, world.system.now()) }, { userId })
    if (status !== 303) throw new Error(text)
    world.system.pass(60_000)
    secrets.set(userId, secret)
    return secret
  }
  return {
    self,
    other,
    partyId,
    review,
    newcomer,
    approver: async () => {
      const { userId, key } = await newcomer()
      const secret = await enroll(userId)
      const approve: Approver['approve'] = (id, idempotencyKey) =>
        self.approve(id, { key, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) })
      const challenge = async () => addressIn(await approve((await review(50_001)).approvalId))
      return { userId, key, approve, challenge, secret }
    },
    open,
    send,
    cookieOf,
    submit: (url, code, headers = sameOriginHeaders) => send(url, { code }, { headers }),
    secretAt: async (url) => secrets.get(String(userIn(url))) ?? (await enroll(String(userIn(url)))),
  }
}

const sameOriginHeaders = { Origin: origin, 'Sec-Fetch-Site': 'same-origin' }

function userIn(url: string): string | null {
  return /usr_[0-9a-f]{32}/.exec(url)?.[0] ?? null
}

/** Returns the secret on the page where a user sets up an authenticator app. */
export function secretIn({ text }: LoadedPage): string {
  const secret = /<code>([A-Z2-7]{32})<\/code>/.exec(text)?.[1]
  if (secret === undefined) throw new Error('The page shows no secret.')
  return secret
}

/**
 * Sets up an authenticator app for the signed-in visitor and returns the app's secret. Confirms the app with the code
 * of the previous time step, so that the current code stays unused.
 */
export async function setUpApp(visitor: Visitor, system: FakeSystem): Promise<string> {
  const page = '/second-factor'
  await visitor.open(page)
  const secret = secretIn(await visitor.send(page, { step: 'begin' }))
  const { status, text } = await visitor.send(page, { code: codeAt(secret, system.now() - 30_000) })
  if (status !== 303) throw new Error(text)
  return secret
}

/** Returns the verification page's URL, which a refusal with status 428 contains. */
export function addressIn(answer: Answer): string {
  const address = /http:\/\/\S+\/verify\/\S+$/.exec(answer.json.errors?.[0]?.detail)?.[0]
  if (answer.status !== 428 || address === undefined) throw new Error(answer.text)
  return address
}
