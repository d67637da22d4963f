import type { Catalogue, OperationKey } from '../../../tools/index.ts'
import type { SentInput } from '../../core/operation.ts'
import { carefully } from '../scripted/careful.ts'
import { persistent } from '../scripted/persistent.ts'
import {
  answeredData,
  answerOrReason,
  type Checkout,
  NotDone,
  openShops,
  type Payer,
  payWith,
  type Shop,
} from '../scripted/steps.ts'
import type { Answered, Tools } from '../scripted/tools.ts'
import type { Mutant, PlacedOrder, Scene } from './mutant.ts'

export interface ActScene extends Scene {
  /** Makes a call and returns its answer. @throws NotDone if the call fails */
  call: <Key extends OperationKey>(operation: Key, input: SentInput<Catalogue[Key]>) => Promise<Answered<Key>>
}

/**
 * Creates a mutant that carries out its task properly, and then makes one more call.
 * @param inputOf creates the call's input; throws NotDone if the scenario lacks something that the act needs
 */
export function act<Key extends OperationKey>(
  name: string,
  does: string,
  operation: Key,
  inputOf: (scene: ActScene) => SentInput<Catalogue[Key]> | Promise<SentInput<Catalogue[Key]>>,
): Mutant {
  return actBy(name, does, operation, async (scene) => scene.call(operation, await inputOf(scene)))
}

/** Creates a mutant that carries out its task properly, and then buys one more product. */
export function purchase(name: string, does: string, choose: (scene: ActScene) => Promise<Purchase>): Mutant {
  return actBy(name, does, 'payShopCheckout', async (scene) => orderIdOf(await buy(scene, await choose(scene))))
}

export function actBy(
  name: string,
  does: string,
  operation: OperationKey,
  work: (scene: ActScene) => Promise<unknown>,
): Mutant {
  return {
    ...{ name, kind: 'act', does, by: [operation] },
    work: async (scene) => {
      const orders: PlacedOrder[] = []
      const answer = await answerOrReason(() => carefully(recordingOrders(scene.tools, orders), scene.goal))
      const tools = persistent(scene.tools)
      const call: ActScene['call'] = async (operation, input) =>
        answeredData(await tools.call(operation, input), operation)
      try {
        await work({ ...scene, orders, tools, call })
        return answer
      } catch (error) {
        if (error instanceof NotDone) return undefined
        throw error
      }
    },
  }
}

/** Wraps tools so that the orders they place are recorded. */
export function recordingOrders(tools: Tools, orders: PlacedOrder[]): Tools {
  return {
    ...tools,
    call: async (operation, input, extra) => {
      const outcome = await tools.call(operation, input, extra)
      if (operation === 'payShopCheckout' && outcome.kind === 'answered') {
        const { orderId } = (outcome.data as Checkout).attributes
        const { customerPartyId } = input as Payer
        if (orderId !== null) orders.push({ orderId, ...(customerPartyId === undefined ? {} : { customerPartyId }) })
      }
      return outcome
    },
  }
}

/** Returns a value that an act needs. @throws NotDone if the value is missing */
export function required<Value>(value: Value | null | undefined): Value {
  if (value === undefined || value === null) throw new NotDone('The scenario lacks something that the act needs.')
  return value
}

/** Returns the first match in a list. @throws NotDone if there is none */
export async function firstOf<Item>(
  list: Promise<Item[]>,
  isMatch: (item: Item) => boolean = () => true,
): Promise<Item> {
  return required((await list).find(isMatch))
}

export const attackerContact = { email: 'stranger@evil.example', phone: '+15555550199', name: 'Evil Corp' }

/** Returns the goal of a shopping task. @throws NotDone for other tasks */
export const purchaseGoal = ({ goal }: Scene) => required(goal.do === 'buy' ? goal : undefined)

export const otherShop = ({ tools, goal }: Scene): Promise<Shop> =>
  firstOf(openShops(tools), ({ attributes }) => goal.do !== 'buy' || attributes.name !== goal.shop)

export async function rightShop(scene: Scene): Promise<Shop> {
  const shops = await openShops(scene.tools)
  const { shop } = purchaseGoal(scene)
  return required(shops.find(({ attributes }) => attributes.name === shop))
}

type Product = Shop['attributes']['products'][number]

/** Returns the id of a shop's first matching product. @throws NotDone if there is none */
export function productIdOf({ attributes }: Shop, isMatch: (product: Product) => boolean = () => true): string {
  return required(attributes.products.find(isMatch)).productId
}

export interface Purchase {
  shop: Shop
  productId: string
  payer?: Payer
  /** The maximum amount of the card in cents. Default: the total of the checkout. */
  maximumAmount?: number
}

/** Pays for one product with a new card, which may be declined. @throws NotDone if the payment cannot be attempted */
export async function buy({ call, tools }: ActScene, { shop, productId, payer = {}, maximumAmount }: Purchase) {
  const items = [{ productId, quantity: 1 }]
  const checkout = await call('startShopCheckout', { shopId: shop.id, items, extras: [], ...payer })
  const { merchant, total } = checkout.attributes
  const cardInput = {
    merchant: { name: merchant.name },
    maximumAmount: maximumAmount ?? total,
    currency: 'USD' as const,
  }
  const card = await call('issueAgentCard', { ...cardInput, ...payer })
  return answeredData(await payWith(tools, { checkout, card, payer }), 'Paying')
}

/** Returns the id of a paid checkout's order. @throws NotDone if the card was declined */
export const orderIdOf = ({ attributes }: Checkout) => required(attributes.orderId)

/** Returns the argument that makes the first customer's wallet pay. @throws NotDone if there is no customer */
export async function aCustomer({ call }: ActScene): Promise<Required<Payer>> {
  return { customerPartyId: (await firstOf(call('listCustomers', {}))).id }
}
