import { externalAccounts } from '../../../tools/external-accounts.ts'
import { paymentRequests } from '../../../tools/payment-requests.ts'
import { money, quoted, quotedWhole, word } from '../answers/quoted-text.ts'
import { type Arguments, onBehalf, optional, type Question, type Read, reason, wallet } from './question.ts'

export async function askToPay({ amount, currency, counterparty, ...rest }: Arguments, read: Read): Promise<Question> {
  return {
    facts: [
      `Pay ${money(amount, currency)}`,
      `To: ${word(counterparty.type)} ${quotedWhole(counterparty.value)}`,
      await fromWallet(rest.walletId, rest, read),
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money moves at once, or after an approval if it exceeds a limit.',
    approveLabel: `Yes, pay ${money(amount, currency)}`,
  }
}

export async function askToWire({ amount, currency, beneficiary, ...rest }: Arguments, read: Read): Promise<Question> {
  const { name, accountNumber, routingNumber } = beneficiary
  return {
    facts: [
      `Wire ${money(amount, currency)}`,
      `To: ${quotedWhole(name)}, account ${word(accountNumber)} at the bank ${word(routingNumber)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money leaves the account and cannot be taken back.',
    approveLabel: `Yes, wire ${money(amount, currency)}`,
  }
}

export async function askToTransfer(
  { amount, sourceWalletId, destWalletId, ...rest }: Arguments,
  read: Read,
): Promise<Question> {
  return {
    facts: [
      `Move ${money(amount)} between wallets`,
      await fromWallet(sourceWalletId, rest, read),
      `To: ${await wallet(destWalletId, rest, read)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money moves at once.',
    approveLabel: `Yes, move ${money(amount)}`,
  }
}

export async function askToIssueCard(
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
    approveLabel: `Yes, issue a card of up to ${money(maximumAmount, currency)}`,
  }
}

export async function askToDeposit(
  { amount, externalAccountId, walletId, ...rest }: Arguments,
  read: Read,
): Promise<Question> {
  return {
    facts: [
      `Deposit ${money(amount)} from a bank account`,
      `From: ${await bankAccount(externalAccountId, rest, read)}`,
      walletId === undefined ? undefined : `To: ${await wallet(walletId, rest, read)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The bank draws the money from that account.',
    approveLabel: `Yes, deposit ${money(amount)}`,
  }
}

export async function askToWithdraw(
  { amount, externalAccountId, walletId, ...rest }: Arguments,
  read: Read,
): Promise<Question> {
  return {
    facts: [
      `Withdraw ${money(amount)} to a bank account`,
      await fromWallet(walletId, rest, read),
      `To: ${await bankAccount(externalAccountId, rest, read)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money leaves the wallet, or waits for an approval if it exceeds a limit.',
    approveLabel: `Yes, withdraw ${money(amount)}`,
  }
}

/** Asks before a payment request is paid. The amount and the requester come from the service, not from the model. */
export async function askToFulfill(
  { paymentRequestId, paymentSource, ...rest }: Arguments,
  read: Read,
): Promise<Question | undefined> {
  const acting = customerArgument(rest)
  const { data } = await read(paymentRequests.getPaymentRequest, { paymentRequestId, ...acting })
  const { status, amount, currency, requesterName, requesterHandle, initiatorParty, description } = data.attributes
  // The payment request is no longer open, so the service will refuse the call and say why.
  if (status !== 'OPEN') return undefined
  const { walletId, externalAccountId } = paymentSource
  return {
    facts: [
      `Pay ${money(amount, currency)} requested by ${quotedWhole(requesterName ?? requesterHandle ?? initiatorParty.id)}`,
      `To: party ${word(initiatorParty.id)}`,
      description === null ? undefined : `Reason, in their words: ${quoted(description)}`,
      walletId === undefined
        ? `From: ${await bankAccount(externalAccountId, acting, read)}`
        : await fromWallet(walletId, acting, read),
      await onBehalf(acting, read),
      `Payment request: ${word(paymentRequestId)}`,
    ],
    effect: 'The money moves at once, or after an approval if it exceeds a limit.',
    approveLabel: `Yes, pay ${money(amount, currency)}`,
  }
}

/** Describes a bank account by its name, last digits and bank. */
export async function bankAccount(externalAccountId: string, acting: Arguments, read: Read): Promise<string> {
  const query = { externalAccountId, ...customerArgument(acting) }
  const found = await optional(read(externalAccounts.getExternalAccount, query))
  if (found === undefined) return word(externalAccountId)
  const { accountName, lastFour, bankName } = found.data.attributes
  return `${quoted(accountName)} ••••${word(lastFour)} at ${quoted(bankName)} (${word(externalAccountId)})`
}

function customerArgument({ customerPartyId, partyId }: Arguments): { customerPartyId?: string } {
  const customer = customerPartyId ?? partyId
  return customer === undefined ? {} : { customerPartyId: customer }
}

async function fromWallet(walletId: string | undefined, acting: Arguments, read: Read): Promise<string | undefined> {
  return walletId === undefined ? undefined : `From: ${await wallet(walletId, acting, read)}`
}
