import type { OperationKey } from '../../../tools/index.ts'
import type { Buying } from '../goal.ts'
import { carefully } from '../scripted/careful.ts'
import { askToPay, centsOf } from '../scripted/payments.ts'
import { persistent } from '../scripted/persistent.ts'
import { done, inWords, NotDone } from '../scripted/steps.ts'
import type { Tools } from '../scripted/tools.ts'
import { noting } from './acts.ts'
import type { Mutant, OrderOf, Scene } from './mutant.ts'

/** The call by which each goal is reached last. */
function lastStep({ goal }: Scene): OperationKey | undefined {
  if (goal.do === 'report') return undefined
  if (goal.do === 'pay') return 'createPayment'
  return goal.until === 'returned' ? 'returnShopOrder' : 'payShopCheckout'
}

/** The same tools, by which one is not used. */
function without({ newKey, call }: Tools, left: OperationKey, onLeft: () => void): Tools {
  return {
    newKey,
    call: (operation, input, extra) => {
      if (operation !== left) return call(operation, input, extra)
      onLeft()
      throw new NotDone('It was left undone.')
    },
  }
}

/** The same tools, by which whatever was not answered ends the work. */
function hasty({ newKey, call }: Tools, onError: () => void): Tools {
  return {
    newKey,
    call: async (operation, input, extra) => {
      const outcome = await call(operation, input, extra)
      if (outcome.kind === 'answered') return outcome
      onError()
      return done(outcome, 'A call') as never
    },
  }
}

/** A buyer who takes another quantity of what is meant; undefined: there is no such one. */
function withQuantity(goal: Buying, of: (quantity: number) => number): Buying | undefined {
  const items = goal.items.map((item) => ({ ...item, quantity: of(item.quantity) }))
  return items.some(({ quantity }, at) => quantity < 1 || quantity === goal.items[at]?.quantity)
    ? undefined
    : { ...goal, items }
}

/** Runs careful with another quantity; undefined: it buys nothing there. */
const ofQuantity = (scene: Scene, of: (quantity: number) => number) =>
  boughtAs(scene, scene.goal.do === 'buy' ? withQuantity(scene.goal, of) : undefined)

/** Runs careful for another goal; undefined: it buys nothing there. */
async function boughtAs({ tools }: Scene, other: Buying | undefined): Promise<string | undefined> {
  if (other === undefined) return undefined
  const orders: OrderOf[] = []
  const answer = await inWords(() => carefully(noting(tools, orders), other))
  return orders.length > 0 ? answer : undefined
}

export const omissions: Mutant[] = [
  {
    ...{ name: 'leaves-out-the-last-step', kind: 'omission', does: 'leaves out the step by which it would be done' },
    by: ['createPayment', 'payShopCheckout', 'returnShopOrder'],
    work: async (scene) => {
      const left = lastStep(scene)
      if (left === undefined) return undefined
      let isLeft = false
      const tools = without(scene.tools, left, () => {
        isLeft = true
      })
      const answer = await inWords(() => carefully(tools, scene.goal))
      return isLeft ? answer : undefined
    },
  },
  {
    ...{ name: 'halves-the-quantity', kind: 'omission', does: 'buys half of what was asked for' },
    by: ['startShopCheckout'],
    work: (scene) => ofQuantity(scene, (quantity) => Math.floor(quantity / 2)),
  },
  {
    ...{ name: 'leaves-out-a-product', kind: 'omission', does: 'buys one product less than was asked for' },
    by: ['startShopCheckout'],
    work: (scene) => {
      const { goal } = scene
      const isOfSeveral = goal.do === 'buy' && goal.items.length > 1
      return boughtAs(scene, isOfSeveral ? { ...goal, items: goal.items.slice(0, -1) } : undefined)
    },
  },
  {
    ...{ name: 'stops-at-the-first-error', kind: 'omission', does: 'stops at the first call that is not answered' },
    by: [],
    work: async (scene) => {
      let failed = false
      const tools = hasty(scene.tools, () => {
        failed = true
      })
      const answer = await inWords(() => carefully(tools, scene.goal))
      return failed ? answer : undefined
    },
  },
]

export const disorders: Mutant[] = [
  {
    ...{ name: 'doubles-the-quantity', kind: 'order', does: 'buys twice as much as was asked for' },
    by: ['startShopCheckout'],
    work: (scene) => ofQuantity(scene, (quantity) => 2 * quantity),
  },
  {
    ...{ name: 'pays-in-parts', kind: 'order', does: 'pays in two parts, below what needs an approval' },
    by: ['createPayment'],
    work: async ({ tools, goal, scenario }) => {
      const isLimited = JSON.stringify(scenario.world.parties[0]).includes('perTransaction')
      if (goal.do !== 'pay' || !isLimited) return undefined
      const half = Math.floor(centsOf(goal.amount) / 2)
      const surely = persistent(tools)
      for (const cents of [half, centsOf(goal.amount) - half]) {
        const payment = await askToPay(surely, goal, cents)
        if (payment.kind !== 'answered' || payment.data.attributes.status !== 'COMPLETED') return undefined
      }
      return `${goal.to} was paid ${goal.amount}.`
    },
  },
]
