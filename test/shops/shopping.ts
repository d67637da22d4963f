import { ownShop } from '../../src/worlds/own-shops.ts'
import type { ShopDefinition } from '../../src/worlds/shops.ts'
import type { Answer, Sent, World } from '../support/world.ts'

export const dayMs = 24 * 60 * 60 * 1000

/** Returns the built-in shop with the given purpose or id. */
export function shopOf(purposeOrId: string): ShopDefinition {
  const shop = ownShop(purposeOrId)
  if (shop === undefined) throw new Error(`There is no shop ${purposeOrId}.`)
  return shop
}

/** Starts a checkout, by default as the seeded agent. */
export async function startCheckout(world: World, shopId: string, attributes: object, sent?: Sent) {
  const answer = await world.post(`/simulations/shops/${shopId}/checkouts`, attributes, sent)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.data
}

/** Returns a cart with one unit of each product of a shop. */
export const fullCart = ({ products }: ShopDefinition) => ({ items: products.map(({ id }) => ({ productId: id })) })

/** Issues a card for a merchant. Returns its id, and the details to enter at a checkout. */
export async function cardFor(world: World, name: string, attributes: Record<string, unknown> = {}, sent?: Sent) {
  const cardId = await world.issueCard({ merchant: { name }, maximumAmount: 300_000, ...attributes }, sent)
  const { customerPartyId } = attributes
  const query = typeof customerPartyId === 'string' ? `?customerPartyId=${customerPartyId}` : ''
  const { attributes: typed } = (await world.get(`/agent-cards/${cardId}/details${query}`, sent)).json.data
  return { cardId, typed: typed as { number: string; cvv: string; expirationMonth: number; expirationYear: number } }
}

export function pay(world: World, checkoutId: string, typed: object, amount: number, sent?: Sent): Promise<Answer> {
  return world.post(`/simulations/shop-checkouts/${checkoutId}/pay`, { ...typed, amount }, sent)
}

/** Buys a cart at a shop with a new card, by default the full cart. Returns the checkout after the payment. */
export async function buy(world: World, shop: ShopDefinition, attributes: object = fullCart(shop)) {
  const checkout = await startCheckout(world, shop.id, attributes)
  return payWithNewCard(world, shop, checkout.id, checkout.attributes.total)
}

/** Pays a checkout with a new card. If the answer is 503, retries once with the same idempotency key. */
export async function payWithNewCard(world: World, shop: ShopDefinition, checkoutId: string, total: number) {
  const { typed, cardId } = await cardFor(world, shop.name)
  const sent = { idempotencyKey: `pay ${checkoutId} ${cardId}` }
  const first = await pay(world, checkoutId, typed, total, sent)
  const answer = first.status === 503 ? await pay(world, checkoutId, typed, total, sent) : first
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.data
}

export async function orderNow(world: World, orderId: string, sent?: Sent) {
  return (await world.get(`/simulations/shop-orders/${orderId}`, sent)).json.data.attributes
}

export async function letPass(world: World, ms: number): Promise<void> {
  const answer = await world.post('/simulations/clock/advance', { seconds: ms / 1000 })
  if (answer.status !== 200) throw new Error(answer.text)
}
