import { agentCards } from '../../../tools/agent-cards.ts'
import { wallets } from '../../../tools/wallets.ts'
import { ApiError } from '../../client/api-error.ts'
import type { CallResult } from '../../client/client.ts'
import { withMoney } from '../../core/money.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { Dependencies } from '../dependencies.ts'
import { related } from '../people/question.ts'

/**
 * Returns a remark if a new card's maximum exceeds the available balance of the card's wallet, because a purchase above
 * that balance is declined. Returns undefined if the balance suffices or cannot be read. If the service runs in this
 * process, it reports a sufficient balance as `isCovered`, and the wallet is not read.
 */
export async function insufficientFundsRemark(
  { api, log }: Dependencies,
  operation: OperationDefinition,
  { data, isCovered }: CallResult<OperationDefinition>,
  { input: { customerPartyId }, signal }: { input: Record<string, unknown>; signal: AbortSignal },
): Promise<string | undefined> {
  if (operation.name !== agentCards.issueAgentCard.name || isCovered === true) return undefined
  const card = data as unknown as CallResult<typeof agentCards.issueAgentCard>['data']
  const walletId = related(card, 'wallet')?.id
  if (walletId === undefined) return undefined
  try {
    const { call } = await api.client()
    const acting = typeof customerPartyId === 'string' ? { customerPartyId } : {}
    const wallet = await call(wallets.getWallet, { walletId, ...acting }, { signal })
    const available = wallet.data.attributes.balance?.available ?? Number.POSITIVE_INFINITY
    if (available >= card.attributes.maximumAmount) return undefined
    return `The wallet has ${withMoney(available)} available, less than this card's maximum. A purchase above the available amount is declined.`
  } catch (error) {
    // The card was issued, so a failure here must not replace the answer.
    if (!(error instanceof ApiError)) log.warn({ err: error }, 'failed to read the balance of the wallet of a new card')
    return undefined
  }
}
