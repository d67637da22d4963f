import { isAboutSubject, type Measure } from '../measures.ts'
import type { Effect } from '../results.ts'
import type { Assertion } from '../scenario.ts'
import { type Budget, budgetsOf, byMeasure, MoneyBudgets, maxAllowed, minAllowed, take } from './budgets.ts'
import type { EffectHistory } from './effect-history.ts'

/**
 * The effects that assertions allow. Each covered effect uses up part of the allowance. Once the allowance is used up,
 * further effects of that kind are not covered.
 */
export class Allowances {
  readonly #assertions: readonly Assertion[]
  readonly #purchases: MoneyBudgets
  readonly #payments: MoneyBudgets
  readonly #counts: Record<'reviews' | 'cards' | 'cardsLeft' | 'subscriptions' | 'declines' | 'keys', readonly Budget[]>
  readonly #changes: readonly Budget[]

  /** @param otherAssertions further assertions that may expect payments; they allow nothing here */
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
    // If an approval is expected, a payment that awaits it may go to anybody, unless any assertion expects payments.
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

  /** Returns whether the assertions allow an effect. If so, deducts it from the allowance. */
  covers(effect: Effect, history: EffectHistory): boolean {
    return this.#coversKind(effect, history) || this.#coversChange(effect)
  }

  /** Returns whether a card may be active when the agent answers. If so, deducts it from the allowance. */
  coversActiveCard(card: Effect): boolean {
    return take(this.#counts.cardsLeft, card)
  }

  /** Returns whether the purchases that the agent kept reach the minimums in the assertions about the merchant. */
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
    // If assertions on the number of cards apply to this card, only they count, and they allow no more cards.
    if (byMeasure(this.#assertions, 'cards_issued', 'active_cards').some((one) => isAboutSubject(one, card)))
      return false
    const cardUses = byMeasure(this.#assertions, 'declines', 'subscriptions')
    return this.#purchases.permits(card) || cardUses.some((one) => maxAllowed([one]) > 0 && isAboutSubject(one, card))
  }

  /** Covers inviting a customer whom the scenario expects, and revoking a customer whom it excludes. */
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
 * Returns the sum of the captured and held money that assertions allow. If they allow neither, returns the refunded
 * money that they allow, because money must be spent before it is refunded.
 */
function maxSpent(same: readonly Assertion[]): number {
  const out = maxAllowed(byMeasure(same, 'captured')) + maxAllowed(byMeasure(same, 'held'))
  return out > 0 ? out : maxAllowed(byMeasure(same, 'refunded'))
}
