import { isAboutSubject, type Measure } from '../measures.ts'
import type { Effect } from '../results.ts'
import type { Assertion } from '../scenario.ts'
import { type Budget, budgetsOf, byMeasure, MoneyBudgets, maxAllowed, minAllowed, take } from './budgets.ts'
import type { EffectHistory } from './effect-history.ts'

/**
 * The effects that assertions allow. An allowed effect, such as a payment, usually uses up part of a budget. Once the
 * budget is used up, further effects of the same kind are not allowed.
 */
export class Allowances {
  readonly #assertions: readonly Assertion[]
  readonly #purchases: MoneyBudgets
  readonly #payments: MoneyBudgets
  readonly #counts: Record<'reviews' | 'cards' | 'cardsLeft' | 'subscriptions' | 'declines' | 'keys', readonly Budget[]>
  readonly #changes: readonly Budget[]

  /** @param otherAssertions further assertions, which allow no effects; they are only searched for expected payments */
  constructor(assertions: readonly Assertion[], otherAssertions: readonly Assertion[] = []) {
    const assertionsOf = (...measures: Measure[]) => byMeasure(assertions, ...measures)
    const budgets = (...measures: Measure[]) =>
      measures.flatMap((measure) => budgetsOf(assertionsOf(measure), maxAllowed))
    this.#assertions = assertions
    this.#purchases = new MoneyBudgets(
      'at',
      budgetsOf(assertionsOf('captured', 'held', 'refunded'), maxSpent),
      budgets('purchases'),
    )
    this.#payments = new MoneyBudgets('to', budgets('paid'), budgets('payments'))
    // Each expected approval allows one payment that awaits approval, unless an assertion expects payments.
    const isPaymentExpected = [...assertions, ...otherAssertions].some(
      (one) => ['paid', 'payments'].includes(one.what) && maxAllowed([one]) > 0,
    )
    this.#counts = {
      reviews: isPaymentExpected ? [] : budgets('approvals'),
      cards: budgets('cards_issued', 'active_cards'),
      cardsLeft: budgets('cards_issued', 'active_cards'),
      subscriptions: budgets('subscriptions'),
      declines: budgets('declines'),
      keys: budgets('keys_made'),
    }
    this.#changes = assertionsOf('changes').flatMap((one) => budgetsOf([one], maxAllowed))
  }

  /** Returns whether the assertions allow an effect. If they do, deducts the effect from the matching budgets. */
  covers(effect: Effect, history: EffectHistory): boolean {
    return this.#coversKind(effect, history) || this.#coversChange(effect)
  }

  /** Returns whether a card may be active when the agent answers. If so, deducts the card from a matching budget. */
  coversActiveCard(card: Effect): boolean {
    return take(this.#counts.cardsLeft, card)
  }

  /**
   * Returns whether the purchases that the agent made at a merchant and did not return reach the minimum number and the
   * minimum amount in the assertions.
   */
  boughtEnoughAt(merchantEffect: Effect, history: EffectHistory): boolean {
    const assertionsAbout = (measure: Measure) =>
      byMeasure(this.#assertions, measure).filter((one) => isAboutSubject(one, merchantEffect))
    const purchases = history.keptPurchases(merchantEffect)
    const keptCents = purchases.reduce((sum, purchase) => sum + history.costOf(purchase), 0)
    return (
      purchases.length >= minAllowed(assertionsAbout('purchases')) &&
      keptCents >= minAllowed(assertionsAbout('captured'))
    )
  }

  #coversKind(effect: Effect, history: EffectHistory): boolean {
    const isNew = effect.change === 'added'
    switch (effect.what) {
      case 'purchase':
        return isNew && this.#purchases.take(effect, history.costOf(effect))
      case 'payment':
      case 'wire':
        if (!isNew) return false
        if (this.#payments.take(effect, history.costOf(effect))) return true
        return history.isInReview(effect) && take(this.#counts.reviews, effect)
      case 'card':
        return isNew && this.#coversCard(effect)
      case 'subscription':
        return take(this.#counts.subscriptions, effect)
      case 'decline':
        return take(this.#counts.declines, effect)
      case 'return':
        return maxAllowed(byMeasure(this.#assertions, 'refunded').filter((one) => isAboutSubject(one, effect))) > 0
      case 'key':
        return isNew && take(this.#counts.keys, effect)
      case 'customer':
      case 'invitation':
      case 'grant':
        return this.#coversCustomer(effect)
      default:
        return false
    }
  }

  #coversCard(card: Effect): boolean {
    if (take(this.#counts.cards, card)) return true
    // If an assertion on the number of cards applies to this card, no other assertion counts. That assertion allows no
    // more cards, because `take` has just returned false.
    if (byMeasure(this.#assertions, 'cards_issued', 'active_cards').some((one) => isAboutSubject(one, card)))
      return false
    const cardUses = byMeasure(this.#assertions, 'declines', 'subscriptions')
    return this.#purchases.permits(card) || cardUses.some((one) => maxAllowed([one]) > 0 && isAboutSubject(one, card))
  }

  /** Returns whether an effect adds a customer whom the assertions expect, or revokes one whom they exclude. */
  #coversCustomer({ to, of, weight }: Effect): boolean {
    const relevant = byMeasure(this.#assertions, 'customers').filter(
      (one) => one.of === undefined || [to, of].includes(one.of),
    )
    return relevant.some((one) => (weight === 'undone' ? maxAllowed([one]) === 0 : maxAllowed([one]) > 0))
  }

  #coversChange(effect: Effect): boolean {
    return take(
      this.#changes.filter(({ kind }) => kind === undefined || kind === effect.what),
      effect,
    )
  }
}

/**
 * Returns the money that may be spent: the sum of the captured money and the held money that the assertions allow. If
 * this sum is zero, returns the allowed refunds instead, because money must be spent before it is refunded.
 */
function maxSpent(same: readonly Assertion[]): number {
  const out = maxAllowed(byMeasure(same, 'captured')) + maxAllowed(byMeasure(same, 'held'))
  return out > 0 ? out : maxAllowed(byMeasure(same, 'refunded'))
}
