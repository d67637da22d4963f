import type { ShopDefinition } from '../../../worlds/shops.ts'
import { checkoutView, orderView, shopView } from '../../operations/shops.ts'
import type { SettledContext } from '../../request/due-effects.ts'
import { asActor } from '../../request/in-process.ts'
import type { Actor } from '../../request/permission-checks.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { Reply } from '../../request/reply.ts'
import { runSettled } from '../../request/settled-transaction.ts'
import { paymentOf } from '../../request/shop-events.ts'
import { buyerMoves } from '../../rules/shop-orders.ts'
import { next } from '../../rules/transitions.ts'
import { findAgentOfAnyParty, partiesWithAgents } from '../../store/agents.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findShopCheckoutOfAnyParty, type ShopCheckoutRecord } from '../../store/shop-checkouts.ts'
import { findShopOrder } from '../../store/shop-orders.ts'
import { findShop, openShops } from '../../store/shops.ts'
import { checkoutOfShopToken, shopTokens } from '../../tokens/shop-tokens.ts'
import type { TypedCard } from './requests.ts'
import type { CheckoutAttributes, OrderAttributes, ShopAttributes } from './words.ts'

/** The content of a shop's page. */
export interface ShopContent {
  id: string
  attributes: ShopAttributes
  /** The products' hidden texts, by product id. The page's HTML contains them, but browsers do not display them. */
  hidden: ReadonlyMap<string, string>
}

/**
 * The party or agent that buys. Anyone who has a checkout's address buys as the party or agent that started the
 * checkout.
 */
export interface Buyer {
  actor: Actor
  instanceId: string | null
  /** The party id of the customer for whom the agent buys; null if the buyer buys for its own party. */
  customerPartyId: string | null
}

export interface OpenedCheckout {
  id: string
  attributes: CheckoutAttributes
  buyer: Buyer
  /** Whether the buyer can change the extras. A checkout for the rest of a split order cannot be changed. */
  mayChange: boolean
  /** The buyer's note to the shop, with secrets masked. */
  note: string | null
}

export interface OpenedOrder {
  id: string
  attributes: OrderAttributes
  buyer: Buyer
  mayReturn: boolean
  /** The path of the checkout page for the unpaid rest of a split order; null if there is none. */
  nextCheckout: string | null
}

interface Cart {
  shopId: string
  items: readonly { productId: string; quantity: number }[]
  /** The ids of the chosen extras; undefined to keep the extras that the shop preselects. */
  extras?: readonly string[]
  note?: string
}

/** The functions that read the data of the shop pages, and the functions that process the forms on those pages. */
export interface ShopPages {
  all(): Promise<ShopContent[]>
  shop(shopId: string): Promise<ShopContent | undefined>
  /** Returns a buyer for the only party that has agents; undefined if no party or several parties have agents. */
  onlyBuyer(): Promise<Buyer | undefined>
  checkout(token: string): Promise<OpenedCheckout | undefined>
  order(token: string): Promise<OpenedOrder | undefined>
  start(buyer: Buyer, cart: Cart, key: string): Promise<Reply>
  pay(checkout: OpenedCheckout, card: TypedCard & { amount: number }, key: string): Promise<Reply>
  sendBack(order: OpenedOrder, attributes: { reason?: string }, key: string): Promise<Reply>
}

export function createShopPages(dependencies: Dependencies): ShopPages {
  const { publicUrl } = dependencies
  const partyOf = (token: string) => async (tx: Transaction) => (await rowOf(tx, token))?.partyId
  return {
    all: () =>
      runSettled(dependencies, async ({ tx }) => (await openShops(tx)).map((shop) => contentOf(shop, dependencies))),
    shop: (id) =>
      runSettled(dependencies, async ({ tx }) => {
        const shop = await findShop(tx, id)
        return shop && contentOf(shop, dependencies)
      }),
    onlyBuyer: () => runSettled(dependencies, async ({ tx }) => onlyBuyer(tx)),
    checkout: (token) =>
      runSettled(dependencies, (context) => openCheckout({ ...context, publicUrl }, token), partyOf(token)),
    order: (token) => runSettled(dependencies, (context) => openOrder(context, token), partyOf(token)),
    start: (buyer, { shopId, ...cart }, key) =>
      runForBuyer(dependencies, buyer, 'startShopCheckout', { params: { shopId }, attributes: cart, key }),
    pay: ({ id, buyer }, card, key) =>
      runForBuyer(dependencies, buyer, 'payShopCheckout', { params: { checkoutId: id }, attributes: card, key }),
    sendBack: ({ id, buyer }, attributes, key) =>
      runForBuyer(dependencies, buyer, 'returnShopOrder', { params: { orderId: id }, attributes, key }),
  }
}

type ShopOperation = 'startShopCheckout' | 'payShopCheckout' | 'returnShopOrder'

/** Runs the operation as if the buyer had called the API: with the same limits, permissions, records and refusals. */
function runForBuyer(
  dependencies: Dependencies,
  { actor, instanceId, customerPartyId }: Buyer,
  operation: ShopOperation,
  { params, attributes, key }: { params: Record<string, string>; attributes: object; key: string },
): Promise<Reply> {
  return asActor(dependencies, actor, operation, {
    params,
    attributes: { ...attributes, ...(customerPartyId === null ? {} : { customerPartyId }) },
    idempotencyKey: key,
    ...(instanceId === null ? {} : { instanceId }),
  })
}

function contentOf(shop: ShopDefinition, { publicUrl }: Pick<Dependencies, 'publicUrl'>): ShopContent {
  const hidden = shop.products.flatMap(({ id, hidden: words }) => (words === undefined ? [] : [[id, words] as const]))
  return { id: shop.id, attributes: shopView(shop, { publicUrl }).attributes, hidden: new Map(hidden) }
}

async function rowOf(tx: Transaction, token: string): Promise<ShopCheckoutRecord | undefined> {
  const id = await checkoutOfShopToken(tx, token)
  return id === undefined ? undefined : findShopCheckoutOfAnyParty(tx, id)
}

type PageContext = SettledContext & Pick<Dependencies, 'publicUrl'>

async function openCheckout(context: PageContext, token: string): Promise<OpenedCheckout | undefined> {
  const { tx } = context
  const row = await rowOf(tx, token)
  const buyer = row && (await buyerOf(tx, row))
  const shop = row && (await findShop(tx, row.shopId))
  if (row === undefined || buyer === undefined || shop === undefined) return undefined
  const { attributes } = checkoutView(row, shop, { context, tokenOf: await shopTokens(tx) })
  return { id: row.id, attributes, buyer, mayChange: row.cart.half !== 'second', note: row.note }
}

async function openOrder(context: SettledContext, token: string): Promise<OpenedOrder | undefined> {
  const { tx, nowMs } = context
  const row = await rowOf(tx, token)
  const buyer = row && (await buyerOf(tx, row))
  if (row === undefined || row.orderId === null || buyer === undefined) return undefined
  const order = await findShopOrder(tx, row, row.orderId)
  if (order === undefined) throw new Error(`Bug: the order ${row.orderId} of a checkout does not exist.`)
  const { status, state } = order
  const { purchase } = await paymentOf(tx, order)
  const isReturnable = status !== 'returning' && next(buyerMoves, status, 'return') === 'returning'
  return {
    id: order.id,
    attributes: orderView(order, purchase).attributes,
    buyer,
    mayReturn: isReturnable && state.returnableUntilMs !== null && nowMs < state.returnableUntilMs,
    nextCheckout: state.next === null ? null : `/shops/checkouts/${(await shopTokens(tx))(state.next.checkoutId)}`,
  }
}

/** Returns the buyer who started the checkout; undefined if the buyer is an agent that is no longer active. */
async function buyerOf(tx: Transaction, { id, ...row }: ShopCheckoutRecord): Promise<Buyer | undefined> {
  const { partyId, agentId, instanceId } = row
  if (agentId === null) return { actor: partyActor(partyId, id), instanceId, customerPartyId: null }
  const agent = await findAgentOfAnyParty(tx, { id: agentId })
  if (agent?.status !== 'ACTIVE') return undefined
  return {
    actor: { ...partyActor(agent.partyId, id), actorType: 'agent', agentId, credentialKind: 'agent_key', scopes: [] },
    instanceId,
    customerPartyId: agent.partyId === partyId ? null : partyId,
  }
}

/**
 * Returns an actor that acts for the party.
 * @param keyId The id to record in place of an API key's id, because a page uses no API key.
 */
function partyActor(partyId: string, keyId: string): Actor {
  const identity = { actorType: 'party', partyId, agentId: null, userId: null } as const
  return { ...identity, credentialKind: 'api_key', keyId, scopes: ['payments.create'], grant: null }
}

async function onlyBuyer(tx: Transaction): Promise<Buyer | undefined> {
  const [partyId, another] = await partiesWithAgents(tx)
  if (partyId === undefined || another !== undefined) return undefined
  return { actor: partyActor(partyId, partyId), instanceId: null, customerPartyId: null }
}
