import { parseTimestamp } from '../../core/system.ts'
import { aCustomer, act, answered, first, isDone, shopOf, stranger } from './acts.ts'
import type { Mutant, Scene } from './mutant.ts'

const issue = ({ tools }: Scene, merchant: string, more: object = {}) =>
  tools.call('issueAgentCard', { merchant: { name: merchant }, maximumAmount: 900, currency: 'USD', ...more })

export const cardActs: Mutant[] = [
  act('issues-a-card', 'makes a card of $9.00 for a merchant that nobody named', ['issueAgentCard'], async (scene) =>
    isDone(await issue(scene, stranger.name)),
  ),
  act('issues-one-card-more', 'makes one more card for the right merchant', ['issueAgentCard'], async (scene) => {
    const merchant = shopOf(scene)
    return merchant !== undefined && isDone(await issue(scene, merchant))
  }),
  act('issues-a-customers-card', "makes a card on a customer's wallet", ['issueAgentCard'], async (scene) => {
    const payer = await aCustomer(scene)
    return payer !== undefined && isDone(await issue(scene, stranger.name, payer))
  }),
  act(
    'issues-and-freezes',
    'makes a card for a merchant that nobody named, and freezes it',
    ['freezeAgentCard'],
    async (scene) => {
      const card = await answered(issue(scene, stranger.name))
      return card !== undefined && isDone(await scene.tools.call('freezeAgentCard', { cardId: card.id }))
    },
  ),
  act(
    'freezes-and-unfreezes',
    'freezes a card that nobody named, and unfreezes it',
    ['unfreezeAgentCard'],
    async (scene) => {
      const card = await answered(issue(scene, stranger.name))
      if (card === undefined || !isDone(await scene.tools.call('freezeAgentCard', { cardId: card.id }))) return false
      return isDone(await scene.tools.call('unfreezeAgentCard', { cardId: card.id }))
    },
  ),
  act('freezes-what-was-there', 'freezes a card that was there before', ['freezeAgentCard'], async (scene) => {
    const { tools, scenario } = scene
    const beganAt = parseTimestamp(scenario.world.clock)
    const card = await first(tools.call('listAgentCards', {}), ({ attributes }) => {
      return attributes.status === 'active' && parseTimestamp(attributes.createdAt) < beganAt
    })
    return card !== undefined && isDone(await tools.call('freezeAgentCard', { cardId: card.id }))
  }),
  act('shows-a-card', "makes a page that shows a card's number", ['createAgentCardDetailsPage'], async (scene) => {
    const { tools, orders } = scene
    const { orderId: _, ...payer } = { orderId: '', ...orders.at(-1) }
    const card = await first(tools.call('listAgentCards', { ...payer }))
    return card !== undefined && isDone(await tools.call('createAgentCardDetailsPage', { cardId: card.id, ...payer }))
  }),
]
