import { createHmac } from 'node:crypto'
import { created, type Payer, payer } from '../payments/payer.ts'
import { type Answer, addParty, addUserToken, type OtherParty, type World } from '../support/world.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** What an authenticator app shows at that moment, by RFC 4226 and 6238 and without the service's library. */
export function codeAt(base32: string, ms: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(ms / 30_000)))
  const mac = createHmac('sha1', keyOf(base32)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** The bytes that a base32 text stands for (RFC 4648). */
export function keyOf(base32: string): Buffer {
  const bits = [...base32].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** A code that no step near to the moment has. */
export function wrongCode(base32: string, ms: number): string {
  const near = new Set(Array.from({ length: 41 }, (_, index) => codeAt(base32, ms + (index - 20) * 30_000)))
  for (let code = 0; ; code++) {
    const text = String(code).padStart(6, '0')
    if (!near.has(text)) return text
  }
}

interface Sheet {
  status: number
  headers: Headers
  text: string
}

export interface Approver {
  userId: string
  key: string
  approve(approvalId: string, idempotencyKey?: string): Promise<Answer>
  /** The address that the refusal of a large approval names. */
  challenge(): Promise<string>
}

/** A world in which payments wait for approvals, and what people do in a browser. */
export interface Checks {
  self: Payer
  other: OtherParty
  partyId: string
  /** A payment of that many cents that waits, and its approval. */
  review(amount: number): Promise<{ paymentId: string; approvalId: string }>
  approver(): Promise<Approver>
  open(url: string): Promise<Sheet>
  submit(url: string, code: string, headers?: Record<string, string>): Promise<Sheet>
  /** The secret that the sandbox's page shows. */
  secretAt(url: string): Promise<string>
}

export const origin = 'http://127.0.0.1:4010'

export async function checks(world: World): Promise<Checks> {
  const self = payer(world)
  const other = await addParty(world)
  const { partyId, agentId } = await world.whoami()
  await self.setLimits('agents', String(agentId), { perTransaction: 100 })
  const fetch = async (request: Request): Promise<Sheet> => {
    const response = await world.service.fetch(request)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const review: Checks['review'] = async (amount) => {
    const paymentId = created(await self.pay(amount, { type: 'party_id', value: other.partyId }))
    return { paymentId, approvalId: (await self.approvalOf(paymentId)).id }
  }
  const open: Checks['open'] = (url) => fetch(new Request(url))
  return {
    self,
    other,
    partyId,
    review,
    approver: async () => {
      const { userId, token } = await addUserToken(world, partyId)
      const approve: Approver['approve'] = (id, idempotencyKey) =>
        self.approve(id, { key: token, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) })
      const challenge = async () => addressIn(await approve((await review(50_001)).approvalId))
      return { userId, key: token, approve, challenge }
    },
    open,
    submit: (url, code, headers = { Origin: origin, 'Sec-Fetch-Site': 'same-origin' }) =>
      fetch(new Request(url, { method: 'POST', body: new URLSearchParams({ code }), headers })),
    secretAt: async (url) => {
      const secret = /<code>([A-Z2-7]{32})<\/code>/.exec((await open(url)).text)?.[1]
      if (secret === undefined) throw new Error('The page shows no secret.')
      return secret
    },
  }
}

/** The address that a 428 names. */
export function addressIn(answer: Answer): string {
  const address = /http:\/\/\S+\/verify\/\S+$/.exec(answer.json.errors?.[0]?.detail)?.[0]
  if (answer.status !== 428 || address === undefined) throw new Error(answer.text)
  return address
}
