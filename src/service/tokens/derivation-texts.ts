import { sha256 } from '../../core/system.ts'
import { hasEnded } from '../rules/subscriptions.ts'
import { decisionText } from '../store/pending-decisions.ts'
import { keyOfSignature } from '../store/root-keys.ts'
import { sealedText } from '../store/schema/party-heads.ts'
import type { Tables } from '../store/schema/tables.ts'
import {
  checkoutPageText,
  clientSecretText,
  connectText,
  joinText,
  manageText,
  requestText,
  secondFactorText,
  shopPageText,
  webhookText,
} from './record-texts.ts'

export interface RetiringKey {
  id: number
  /** The time on the sandbox clock after which this key derived no new secrets. */
  endsAtMs: number
  sign(text: string): string
}

/**
 * For each table with derived secrets, a function that takes a row and a root key. It returns the strings from which
 * the key derived the secrets that the row still needs. Form tokens and challenges are also derived from root keys, but
 * they expire within minutes, so they are not included.
 */
export const derivationTexts: {
  readonly [Name in keyof Tables]?: (row: Tables[Name], key: RetiringKey) => readonly string[]
} = {
  // Subscriptions and checkouts do not store which key derived their secrets. If the record was created no later than
  // `endsAtMs`, the key is assumed to have derived them.
  subscriptions: ({ id, paymentIntentId, status, createdAtMs }, { endsAtMs }) =>
    hasEnded(status) || createdAtMs > endsAtMs
      ? []
      : [clientSecretText(paymentIntentId), checkoutPageText(id), manageText(id)],
  shopCheckouts: ({ id, createdAtMs }, { endsAtMs }) => (createdAtMs > endsAtMs ? [] : [shopPageText(id)]),
  customerInvitations: ({ id, tokenHash }, key) => textIfSigned(key, connectText(id), tokenHash),
  partyInvitations: ({ id, tokenHash }, key) => textIfSigned(key, joinText(id), tokenHash),
  paymentRequests: ({ id, tokenHash }, key) => textIfSigned(key, requestText(id), tokenHash),
  partyHeads: ({ partyId, activitySequence: sequence, hash, seal }, { id }) =>
    hash !== null && seal !== null && keyOfSignature(seal) === id ? [sealedText({ partyId, sequence, hash })] : [],
  webhooks: ({ id, secretNumber, secretKeyId, previousKeyId }, key) => [
    ...(secretKeyId === key.id ? [webhookText(id, secretNumber)] : []),
    ...(previousKeyId === key.id ? [webhookText(id, secretNumber - 1)] : []),
  ],
  secondFactors: ({ userId, seed, pendingSeed }, key) =>
    [seed, pendingSeed].flatMap((text) => {
      const [id, nonce] = (text ?? '').split('.')
      return nonce !== undefined && Number(id) === key.id ? [secondFactorText(userId, nonce)] : []
    }),
  pendingDecisions: ({ partyId, id, call, answer }, key) => [
    ...(isSealedBy(key, call) ? [decisionText({ partyId, id, part: 'call' })] : []),
    ...(isSealedBy(key, answer) ? [decisionText({ partyId, id, part: 'answer' })] : []),
  ],
}

function textIfSigned({ sign }: RetiringKey, text: string, tokenHash: string): string[] {
  return sha256(sign(text)) === tokenHash ? [text] : []
}

function isSealedBy({ id }: RetiringKey, sealed: string | null): boolean {
  return sealed?.startsWith(`${id}.`) === true
}
