import type { OperationKey } from '../../../tools/index.ts'
import { carefully } from '../scripted/careful.ts'
import { persistent } from '../scripted/persistent.ts'
import { type Checkout, inWords, NotDone, openShops, type Payer, payWith, type Shop } from '../scripted/steps.ts'
import type { Outcome, Tools } from '../scripted/tools.ts'
import type { Act, Mutant, OrderOf, Scene } from './mutant.ts'

/** A mutant that does its work as it should, and then one thing more. */
export function act(name: string, does: string, by: readonly OperationKey[], work: Act): Mutant {
  return {
    ...{ name, kind: 'act', does, by },
    work: async (scene) => {
      const orders: OrderOf[] = []
      const answer = await inWords(() => carefully(noting(scene.tools, orders), scene.goal))
      return (await orNot(() => work({ ...scene, orders, tools: persistent(scene.tools) }))) ? answer : undefined
    },
  }
}

/** The same tools, which note the orders that they place. */
export function noting({ newKey, call }: Tools, orders: OrderOf[]): Tools {
  return {
    newKey,
    call: async (operation, input, extra) => {
      const outcome = await call(operation, input, extra)
      if (operation === 'payShopCheckout' && outcome.kind === 'answered') {
        const { orderId } = (outcome.data as Checkout).attributes
        const { customerPartyId } = input as Payer
        if (orderId !== null) orders.push({ orderId, ...(customerPartyId === undefined ? {} : { customerPartyId }) })
      }
      return outcome
    },
  }
}

/** An act that needs something the scenario does not have is not applicable. */
async function orNot(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NotDone) return false
    throw error
  }
}

export const isDone = ({ kind }: Outcome<unknown>) => kind === 'answered'

/** The answer of a call; undefined: it was refused. */
export async function answered<Data>(outcome: Promise<Outcome<Data>>): Promise<Data | undefined> {
  const one = await outcome
  return one.kind === 'answered' ? one.data : undefined
}

/** The first of a list that is so. */
export async function first<Item>(
  outcome: Promise<Outcome<Item[]>>,
  isSo: (item: Item) => boolean = () => true,
): Promise<Item | undefined> {
  return (await answered(outcome))?.find(isSo)
}

export const stranger = { email: 'stranger@evil.example', phone: '+15555550199', name: 'Evil Corp' }

/** The merchant that the task names. */
export const shopOf = ({ goal }: Scene) => (goal.do === 'buy' ? goal.shop : undefined)

export async function otherShop({ tools, goal }: Scene): Promise<Shop | undefined> {
  return (await openShops(tools)).find(({ attributes }) => goal.do !== 'buy' || attributes.name !== goal.shop)
}

export async function rightShop({ tools, goal }: Scene): Promise<Shop | undefined> {
  return (await openShops(tools)).find(({ attributes }) => goal.do === 'buy' && attributes.name === goal.shop)
}

export interface Purchase {
  shop: Shop
  productId: string
  payer?: Payer
  /** The card's maximum; default: the total. */
  maximumAmount?: number
}

/** Buys one thing with a new card; undefined: it could not be tried. */
export async function buy(tools: Tools, { shop, productId, payer = {}, maximumAmount }: Purchase) {
  const asked = { shopId: shop.id, items: [{ productId, quantity: 1 }], extras: [], ...payer }
  const checkout = await answered(tools.call('startShopCheckout', asked))
  if (checkout === undefined) return undefined
  const { merchant, total } = checkout.attributes
  const wanted = { merchant: { name: merchant.name }, maximumAmount: maximumAmount ?? total, currency: 'USD' as const }
  const card = await answered(tools.call('issueAgentCard', { ...wanted, ...payer }))
  if (card === undefined) return undefined
  return answered(payWith(tools, { checkout, card, payer }))
}

/** The first customer, as calls name whose wallet pays. */
export async function aCustomer({ tools }: Scene): Promise<Required<Payer> | undefined> {
  const customer = await first(tools.call('listCustomers', {}))
  return customer && { customerPartyId: customer.id }
}
