import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { hmac, type System, sealBytes, unseal, unsealBytes } from '../../core/system.ts'
import { lastingTexts, type RootKeys } from '../store/root-keys.ts'
import type { IdempotencyRecordRow } from '../store/schema/idempotency-records.ts'

/** What an answer is kept for: the party that was acted on, and the Idempotency-Key that it was asked for with. */
interface KeyOfParty {
  partyId: string
  key: string
}

/**
 * An answer as it is kept: whoever has the key that it was asked for with reads it again, byte for byte, its secrets
 * included, and nobody else does. In front stands which root key sealed it, by a secret that outlives that key: who has the
 * database alone could not seal the answer anew. It is deflated, for most of a database is
 * recorded answers, and most of each stands in all others as well.
 */
export function sealedAnswer({ newestId, derive }: RootKeys, system: System, of: KeyOfParty, body: string): Buffer {
  const small = Buffer.concat([
    Buffer.of(phrases.length),
    deflateRawSync(body, { ...cheap, dictionary: phrasesFor(phrases.length, of) }),
  ])
  const secret = hmac(derive(newestId, lastingTexts.recordedAnswers), sealText(of))
  return Buffer.concat([Buffer.from(`${newestId}:`), sealBytes(system, secret, small)])
}

/** The body of a recorded answer, in whichever form it is kept. */
export function openedAnswer(
  keys: RootKeys,
  of: KeyOfParty,
  { body, answer }: Pick<IdempotencyRecordRow, 'body' | 'answer'>,
): string {
  if (answer === null) return openedText(keys, of, body)
  const sealed = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength)
  const end = sealed.findIndex((byte) => byte < zero || byte > nine)
  const id = Number(sealed.toString('latin1', 0, end))
  // Before root keys could be retired, answers were sealed with what the key itself derives.
  const isLasting = sealed[end] === colon
  const secret = isLasting
    ? hmac(keys.derive(id, lastingTexts.recordedAnswers), sealText(of))
    : keys.derive(id, sealText(of))
  const small = unsealBytes(secret, sealed.subarray(end + 1))
  if (small === undefined) throw new Error('Bug: a recorded answer does not open with its own key.')
  return inflateRawSync(small.subarray(1), { dictionary: phrasesFor(small[0], of) }).toString('utf8')
}

/** What was recorded before answers were deflated is text, and before they were sealed JSON, without its secrets. */
function openedText({ derive }: RootKeys, of: KeyOfParty, recorded: string | null): string {
  if (recorded === null) throw new Error('Bug: a finished record without its answer.')
  const [, id, text] = /^(\d+)\.(.*)$/.exec(recorded) ?? []
  if (id === undefined || text === undefined) return recorded
  const body = unseal(derive(Number(id), sealText(of)), text)
  if (body === undefined) throw new Error('Bug: a recorded answer does not open with its own key.')
  return body
}

const [zero, nine, colon] = [0x30, 0x39, 0x3a]

function sealText({ partyId, key }: KeyOfParty): string {
  return `recorded answer ${partyId} ${key}`
}

/** Small buffers: making them costs more than deflating an answer does. */
const cheap = { level: 1, windowBits: 11, memLevel: 4, chunkSize: 1024 } as const

/** What stands in most answers, most often at the end: what is nearer is told shorter. The number of the text is kept. */
function phrasesFor(version: number | undefined, { partyId }: KeyOfParty): Buffer {
  const text = phrases[Number(version) - 1]
  if (text === undefined) throw new Error(`Bug: an answer was deflated with texts that are not known: ${version}.`)
  return Buffer.from(text + partyId)
}

/** A text is never changed, for recorded answers need it: where answers have come to be others, add one. */
const phrases = [
  [
    '{"errors":[{"code":"invalid_value","detail":"","status":"422","source":{"pointer":"/data/attributes/"},"meta":{"supportId":"req_',
    '"status":"409","meta":{"supportId":"req_"}}]}',
    '{"data":{"type":"approval","id":"apr_","attributes":{"status":"approved","target":{"type":"payment","id":"pay_"},"payment":{"amount":',
    '"reasons":[{"type":"limitExceeded","limitType":"perTransactionAmount","limitAmount":,"actualAmount":"customer":null,"ach":null,"realtime":null,"wire":null,"initiator":{"actorType":"agent","agent":{"id":"agt_","name":"","owner":{"partyId":"pty_"}}},"denialReason":null,"resolvedAt":null',
    '{"data":{"type":"subscription","id":"sub_","attributes":{"status":"pending","terms":{"description":"","every":{"unit":"month","count":1},"amount":,"taxAmount":,"paymentCount":null},"currency":"USD","nextPayment":{"paymentNumber":1,"dueDate":null,"amount":,"taxAmount":},"missedPayments":[],"attention":null,"mandateId":"mdt_","checkoutUrl":"http://127.0.0.1:4010/checkout/","clientSecret":null,"expiresAt":null,"relationships":{"paymentIntent":{"data":{"type":"paymentIntent","id":"pmi_',
    '{"data":{"type":"agent","id":"agt_","attributes":{"name":"","description":null,"status":"ACTIVE","tags":{},"handle":"","limits":{"perTransaction":,"perDay":,"perMonth":null},"createdBy":"usr_","updatedBy":null,"lastActiveAt":null}',
    '{"data":{"type":"transfer","id":"tfr_","attributes":{"type":"withdrawal","amount":,"currency":"USD","status":"COMPLETED","method":"wire","rail":"wire","description":null,"tags":{},"externalAccountDisplayMask":null,"expectedAvailableAt":null,"failure":null,"return":null,"submittedAt":"2026-","settledAt":"2026-","destWallet":{"data":null},"externalAccount":{"data":null},"transaction":{"data":{"type":"transaction","id":"txn_',
    '{"data":{"type":"payment","id":"pay_","attributes":{"amount":,"currency":"USD","status":"COMPLETED","description":null,"tags":{},"claimLink":null},"relationships":{"sender":{"data":{"type":"party","id":"pty_"}},"senderAgent":{"data":null},"recipient":{"data":{"type":"party","id":"pty_"}},"recipientAgent":{"data":null},"customerParty":{"data":null},"transaction":{"data":{"type":"transaction","id":"txn_"}},"paymentRequest":{"data":null}}}}',
    '{"data":{"type":"agentCard","id":"pcd_","attributes":{"status":"active","merchant":{"name":""},"maximumAmount":',
    '"expiresAt":"2026-"wallet":{"data":{"type":"wallet","id":"wal_"}},"agent":{"data":{"type":"agent","id":"agt_"}}}}}',
    '{"data":{"type":"cardTransaction","id":"cit_","attributes":{"kind":"purchase","status":"captured","amount":"declined","decline":{"code":"insufficient_funds","reason":"',
    '"status":"authorized","amount":,"currency":"USD","merchant":{"name":""},"held":0,"captured":0,"refunded":0,"decline":null,"holdExpiresAt":null,"agentId":"agt_","instanceId":"","createdAt":"2026-","updatedAt":"2026-"},"relationships":{"agentCard":{"data":{"type":"agentCard","id":"pcd_"}},"purchase":{"data":null},"party":{"data":{"type":"party","id":"pty_"}},"wallet":{"data":{"type":"wallet","id":"wal_"}}}}}',
  ].join(''),
]
