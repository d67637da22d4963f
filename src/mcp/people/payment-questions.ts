import { money, quotedWhole, word } from '../answers/shown-text.ts'
import { type Arguments, onBehalf, type Question, type Read, reason, wallet } from './question.ts'

export async function paying({ amount, currency, counterparty, ...rest }: Arguments, read: Read): Promise<Question> {
  return {
    facts: [
      `Pay ${money(amount, currency)}`,
      `To: ${word(counterparty.type)} ${quotedWhole(counterparty.value)}`,
      await from(rest.walletId, rest, read),
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money moves at once, or after an approval where a limit is hit.',
    tick: `Yes, pay ${money(amount, currency)}`,
  }
}

export async function wiring({ amount, currency, beneficiary, ...rest }: Arguments, read: Read): Promise<Question> {
  const { name, accountNumber, routingNumber } = beneficiary
  return {
    facts: [
      `Wire ${money(amount, currency)}`,
      `To: ${quotedWhole(name)}, account ${word(accountNumber)} at the bank ${word(routingNumber)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money leaves the account and cannot be taken back.',
    tick: `Yes, wire ${money(amount, currency)}`,
  }
}

export async function transferring(
  { amount, sourceWalletId, destWalletId, ...rest }: Arguments,
  read: Read,
): Promise<Question> {
  return {
    facts: [
      `Move ${money(amount)} between wallets`,
      await from(sourceWalletId, rest, read),
      `To: ${await wallet(destWalletId, rest, read)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money moves at once.',
    tick: `Yes, move ${money(amount)}`,
  }
}

export async function issuing(
  { merchant, maximumAmount, currency, ...rest }: Arguments,
  read: Read,
): Promise<Question> {
  return {
    facts: [
      `Issue a card of up to ${money(maximumAmount, currency)}`,
      `For one purchase at: ${quotedWhole(merchant.name)}`,
      await onBehalf(rest, read),
    ],
    effect: 'The assistant can pay with it without asking again.',
    tick: `Yes, issue a card of up to ${money(maximumAmount, currency)}`,
  }
}

async function from(walletId: string | undefined, acting: Arguments, read: Read): Promise<string | undefined> {
  return walletId === undefined ? undefined : `From: ${await wallet(walletId, acting, read)}`
}
