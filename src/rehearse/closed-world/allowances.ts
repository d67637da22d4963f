import { fits } from '../measures.ts'
import type { Effect } from '../results.ts'
import type { Assertion } from '../scenario.ts'
import { type Budget, budgetsOf, byMeasure, least, MoneyBudgets, most, take } from './budgets.ts'
import type { Happened } from './effect-history.ts'

/** The effects that assertions allow. Each effect uses up its part, so that a second one finds less. */
export class Allowances {
  readonly #assertions: readonly Assertion[]
  readonly #purchases: MoneyBudgets
  readonly #payments: MoneyBudgets
  readonly #inReview: readonly Budget[]
  readonly #cards: readonly Budget[]
  readonly #left: readonly Budget[]
  readonly #cardsAnywhere: readonly Assertion[]
  readonly #subscriptions: readonly Budget[]
  readonly #declines: readonly Budget[]
  readonly #keys: readonly Budget[]
  readonly #changes: readonly (Budget & Pick<Assertion, 'kind'>)[]

  /** @param beside what is said of payments elsewhere in the scenario. */
  constructor(assertions: readonly Assertion[], beside: readonly Assertion[] = []) {
    const of = (...measures: Assertion['what'][]) => byMeasure(assertions, ...measures)
    const budgets = (...measures: Assertion['what'][]) => budgetsOf(of(...measures), most)
    this.#assertions = assertions
    this.#purchases = new MoneyBudgets('at', budgetsOf(of('captured', 'held', 'refunded'), mostSpent), [
      ...budgets('purchases'),
    ])
    const [paid, payments] = [budgets('paid'), budgets('payments')]
    this.#payments = new MoneyBudgets('to', paid, payments)
    // A payment that nobody agreed to is asked for by its approval, where nothing else says to whom it goes.
    const isNamed = [...assertions, ...beside].some((one) => ['paid', 'payments'].includes(one.what) && most([one]) > 0)
    this.#inReview = isNamed ? [] : budgets('approvals')
    this.#cards = [...budgets('cards_issued'), ...budgets('active_cards')]
    this.#left = [...budgets('cards_issued'), ...budgets('active_cards')]
    this.#cardsAnywhere = of('declines', 'subscriptions').filter((one) => most([one]) > 0)
    this.#subscriptions = budgets('subscriptions')
    this.#declines = budgets('declines')
    this.#keys = budgets('keys_made')
    this.#changes = of('changes').flatMap(({ kind, ...one }) =>
      budgetsOf([one], most).map((budget) => ({ ...budget, ...(kind === undefined ? {} : { kind }) })),
    )
  }

  /** Whether they let the agent do it. */
  cover(effect: Effect, happened: Happened): boolean {
    return this.#coversKind(effect, happened) || this.#coversChange(effect)
  }

  /** Whether a card may be there, used or not, when the agent answers. */
  leaves(card: Effect): boolean {
    return take(this.#left, card)
  }

  /** Whether what the agent bought at a merchant and kept is as much as is asked for. */
  isMet(place: Effect, happened: Happened): boolean {
    const about = (measure: Assertion['what']) => byMeasure(this.#assertions, measure).filter((one) => fits(one, place))
    const kept = happened.keptAt(place)
    const keptCents = kept.reduce((sum, purchase) => sum + happened.costOf(purchase), 0)
    return kept.length >= least(about('purchases')) && keptCents >= least(about('captured'))
  }

  #coversKind(effect: Effect, happened: Happened): boolean {
    const isNew = effect.change === 'added'
    switch (effect.what) {
      case 'purchase':
        return isNew && this.#purchases.take(effect, happened.costOf(effect))
      case 'payment':
      case 'wire':
        if (!isNew) return false
        if (this.#payments.take(effect, happened.costOf(effect))) return true
        return happened.isInReview(effect) && take(this.#inReview, effect)
      case 'card':
        return isNew && this.#coversCard(effect)
      case 'subscription':
        return take(this.#subscriptions, effect)
      case 'decline':
        return take(this.#declines, effect)
      case 'return':
        return most(byMeasure(this.#assertions, 'refunded').filter((one) => fits(one, effect))) > 0
      case 'key':
        return isNew && take(this.#keys, effect)
      case 'customer':
      case 'invitation':
      case 'grant':
        return this.#coversCustomer(effect)
      default:
        return false
    }
  }

  #coversCard(card: Effect): boolean {
    if (take(this.#cards, card)) return true
    // A count allows that many effects, and no more.
    if (byMeasure(this.#assertions, 'cards_issued', 'active_cards').some((one) => fits(one, card))) return false
    return this.#purchases.names(card) || this.#cardsAnywhere.some((one) => fits(one, card))
  }

  /** Asking somebody to connect is asked for by a customer more, and parting by none. */
  #coversCustomer({ to, of, weight }: Effect): boolean {
    const asked = byMeasure(this.#assertions, 'customers').filter(
      (one) => one.of === undefined || [to, of].includes(one.of),
    )
    return asked.some((one) => (weight === 'undone' ? most([one]) === 0 : most([one]) > 0))
  }

  #coversChange(effect: Effect): boolean {
    return take(
      this.#changes.filter(({ kind }) => kind === undefined || kind === effect.what),
      effect,
    )
  }
}

/** Adds up captured and held money. If the assertions name neither, refunded money must have gone out before. */
function mostSpent(same: readonly Assertion[]): number {
  const out = most(byMeasure(same, 'captured')) + most(byMeasure(same, 'held'))
  return out > 0 ? out : most(byMeasure(same, 'refunded'))
}
