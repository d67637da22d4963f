import { credentials } from '../../tools/credentials.ts'
import { customers } from '../../tools/customers.ts'
import { wallets } from '../../tools/wallets.ts'
import type { Client } from '../client/client.ts'
import type { HeldCall } from '../core/held-call.ts'
import { money } from '../core/money.ts'
import type { ContextFact } from '../service/pages/frame/decision-facts.ts'
import { type Limits, limitsOf } from '../service/rules/limits.ts'

type Call = Client['call']

/**
 * Reads the facts that limit a call that spends money: the balance of the wallet, and the limits that a customer set
 * for the agent. The API does not show an agent its own limits or the amount that it has already spent. Facts that
 * cannot be read are left out.
 */
export async function readLimitFacts(call: Call, { arguments: callArguments }: HeldCall): Promise<ContextFact[]> {
  const customerId = textOf(callArguments.customerPartyId) ?? textOf(callArguments.partyId)
  const found = await Promise.all([
    readOrUndefined(() => limitsWords(call, customerId)),
    readOrUndefined(() =>
      walletWords(call, textOf(callArguments.walletId) ?? textOf(callArguments.sourceWalletId), customerId),
    ),
  ])
  return found.filter((limit) => limit !== undefined)
}

async function limitsWords(call: Call, customerId: string | undefined): Promise<ContextFact | undefined> {
  const { agentId, partyId } = (await call(credentials.whoami, {})).data.attributes
  if (agentId === null) return undefined
  const owners = limitsOf({ agentId, agentPartyId: partyId, partyId: customerId ?? partyId })
  if (customerId !== undefined && owners.includes('grant')) {
    const { agents: granted } = (await call(customers.getCustomer, { customerId })).data.attributes
    const limits = granted.find(({ id }) => id === agentId)?.limits
    return limits === undefined ? undefined : { label: 'The customer’s limits for the agent', text: wordsOf(limits) }
  }
  return { label: 'The agent’s limits', text: 'They apply, but are not shown here: the API shows them only to people' }
}

async function walletWords(call: Call, walletId: string | undefined, customerId: string | undefined) {
  const onBehalf = customerId === undefined ? {} : { customerPartyId: customerId }
  const wallet =
    walletId === undefined
      ? onlyOne((await call(wallets.listWallets, { ...onBehalf, limit: 2 })).data)
      : (await call(wallets.getWallet, { walletId, ...onBehalf })).data
  const available = wallet?.attributes.balance?.available
  return available === undefined ? undefined : { label: 'In the wallet now', text: `${money(available)} available` }
}

function wordsOf(limits: Limits | null): string {
  const parts = [
    words(limits?.perTransaction, 'per payment'),
    words(limits?.perDay, 'per day'),
    words(limits?.perMonth, 'per month'),
  ].filter((part) => part !== null)
  return parts.length === 0 ? 'No limit' : `${parts.join('; ')}; the amount already spent is not shown here`
}

const words = (cents: number | null | undefined, when: string) => (cents == null ? null : `${money(cents)} ${when}`)

const onlyOne = <T>(all: readonly T[]): T | undefined => (all.length === 1 ? all[0] : undefined)

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

/** Reads a value. Returns undefined if reading fails, because a person can decide without the value. */
async function readOrUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch {
    return undefined
  }
}
