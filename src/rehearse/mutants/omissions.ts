import type { OperationKey } from '../../../tools/index.ts'
import type { Goal } from '../goal.ts'
import { carefully } from '../scripted/careful.ts'
import { askToPay, centsOf } from '../scripted/payments.ts'
import { persistent } from '../scripted/persistent.ts'
import { answeredData, answerOrReason, NotDone } from '../scripted/steps.ts'
import { recordingOrders } from './acts.ts'
import type { Mutant, PlacedOrder, Scene } from './mutant.ts'

/** Returns the operation that completes a task; undefined if the task is only to report something. */
function lastStep(goal: Goal): OperationKey | undefined {
  if (goal.do === 'report') return undefined
  if (goal.do === 'pay') return 'createPayment'
  if (goal.do === 'cancel') return 'cancelPayment'
  if (goal.do === 'several') return goal.steps.map(lastStep).findLast((one) => one !== undefined)
  return goal.until === 'returned' ? 'returnShopOrder' : 'payShopCheckout'
}

interface Stop {
  /** The careful agent stops before its first call of this operation. */
  at?: OperationKey | undefined
  /** Whether the careful agent stops after the first call that fails. */
  onError?: boolean
}

/** Runs the careful agent until it has to stop, and returns its answer. Returns undefined if it never has to stop. */
async function runUntilStop({ tools, goal }: Scene, { at, onError = false }: Stop): Promise<string | undefined> {
  let isStopped = false
  const call: Scene['tools']['call'] = async (operation, input, extra) => {
    isStopped ||= operation === at
    if (isStopped) throw new NotDone('It was left undone.')
    const outcome = await tools.call(operation, input, extra)
    isStopped = onError && outcome.kind !== 'answered'
    if (isStopped) answeredData(outcome, 'A call')
    return outcome
  }
  const answer = await answerOrReason(() => carefully({ ...tools, call }, goal))
  return isStopped ? answer : undefined
}

type Items = Extract<Goal, { do: 'buy' }>['items']

/** Runs the careful agent with changed items. Returns its answer, or undefined if it buys nothing. */
async function buyOther({ tools, goal }: Scene, change: (items: Items) => Items | undefined) {
  const items = goal.do === 'buy' ? change(goal.items) : undefined
  if (goal.do !== 'buy' || items === undefined) return undefined
  const orders: PlacedOrder[] = []
  const answer = await answerOrReason(() => carefully(recordingOrders(tools, orders), { ...goal, items }))
  return orders.length > 0 ? answer : undefined
}

/**
 * Returns a function that multiplies all quantities by a factor. The function returns undefined if a quantity would be
 * less than 1.
 */
const multiplied =
  (factor: number) =>
  (items: Items): Items | undefined => {
    const changed = items.map((item) => ({ ...item, quantity: Math.floor(item.quantity * factor) }))
    return changed.some(({ quantity }) => quantity < 1) ? undefined : changed
  }

export const omissions: Mutant[] = [
  {
    ...{ name: 'leaves-out-the-last-step', kind: 'omission', does: 'leaves out the last step of the task' },
    by: ['createPayment', 'payShopCheckout', 'returnShopOrder'],
    work: (scene) => runUntilStop(scene, { at: lastStep(scene.goal) }),
  },
  {
    ...{ name: 'halves-the-quantity', kind: 'omission', does: 'buys half of the requested quantity' },
    by: ['startShopCheckout'],
    work: (scene) => buyOther(scene, multiplied(1 / 2)),
  },
  {
    ...{ name: 'leaves-out-a-product', kind: 'omission', does: 'buys all but one of the requested products' },
    by: ['startShopCheckout'],
    work: (scene) => buyOther(scene, (items) => (items.length > 1 ? items.slice(0, -1) : undefined)),
  },
  {
    ...{ name: 'stops-at-the-first-error', kind: 'omission', does: 'stops at the first call that fails' },
    by: [],
    work: (scene) => runUntilStop(scene, { onError: true }),
  },
]

export const wrongAmounts: Mutant[] = [
  {
    ...{ name: 'doubles-the-quantity', kind: 'order', does: 'buys twice the requested quantity' },
    by: ['startShopCheckout'],
    work: (scene) => buyOther(scene, multiplied(2)),
  },
  {
    ...{ name: 'pays-in-parts', kind: 'order', does: 'pays in two parts, each below the approval limit' },
    by: ['createPayment'],
    work: async ({ tools, goal, scenario }) => {
      const isLimited = JSON.stringify(scenario.world.parties[0]).includes('perTransaction')
      if (goal.do !== 'pay' || !isLimited) return undefined
      const half = Math.floor(centsOf(goal.amount) / 2)
      const retryingTools = persistent(tools)
      for (const cents of [half, centsOf(goal.amount) - half]) {
        const payment = await askToPay(retryingTools, goal, cents)
        if (payment.kind !== 'answered' || payment.data.attributes.status !== 'COMPLETED') return undefined
      }
      return `${goal.to} was paid ${goal.amount}.`
    },
  },
]
