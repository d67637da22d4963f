import type { Effect } from '../results.ts'

/** Returns whether an effect cancels a payment. A person's denial does not count, because the agent did try to pay. */
const cancels = ({ change, weight, by }: Effect) => change === 'changed' && weight === 'undone' && by !== 'person'

/** The effects of a trial, with methods that relate them to each other. */
export class EffectHistory {
  readonly #effects: readonly Effect[]
  readonly #own: ReadonlySet<string>

  constructor(effects: readonly Effect[]) {
    this.#effects = effects
    this.#own = new Set(effects.filter(({ by, change }) => by === 'agent' && change === 'added').map(keyOf))
  }

  /** Returns whether the agent created the effect's record in this trial. */
  isOwn(effect: Effect): boolean {
    return this.#own.has(keyOf(effect))
  }

  /** Returns whether the effect's record was changed in this trial. */
  wasChanged({ what, id }: Effect): boolean {
    return this.#effects.some((one) => one.what === what && one.id === id && one.change === 'changed')
  }

  /** Returns the final cost of a payment or purchase in cents. Released holds and canceled payments cost nothing. */
  costOf({ what, id, cents = 0 }: Effect): number {
    const later = this.#effects.filter((one) => one.id === id)
    if (what !== 'purchase') return later.some(cancels) ? 0 : cents
    return later.filter((one) => one.what === 'release').reduce((left, one) => left - (one.cents ?? 0), cents)
  }

  /** Returns whether the effect's step also asked for approval of a payment to the effect's payee. */
  isInReview({ step, to }: Effect): boolean {
    return this.#effects.some(
      (one) => one.what === 'approval' && one.change === 'added' && one.step === step && one.to === to,
    )
  }

  /** Returns the purchases that the agent made at the effect's merchant and did not return. */
  keptPurchases({ at, of }: Effect): Effect[] {
    const atMerchant = this.#effects.filter((one) => one.at === at && one.of === of && one.by === 'agent')
    const returned = new Set(atMerchant.filter(({ what }) => what === 'return').map(({ id }) => id))
    const returnedSteps = new Set(
      atMerchant.filter(({ what, id }) => what === 'order' && returned.has(id)).map(({ step }) => step),
    )
    return atMerchant.filter(
      ({ what, change, step }) => what === 'purchase' && change === 'added' && !returnedSteps.has(step),
    )
  }

  /** Returns whether a later payment of the same kind goes to the same payee. */
  wasPaidAgain(effect: Effect): boolean {
    const later = this.#effects.slice(this.#effects.indexOf(effect) + 1)
    return later.some(({ what, change, to }) => what === effect.what && change === 'added' && to === effect.to)
  }

  /** Returns whether a purchase at a card's merchant was declined, and a new card for the merchant was issued later. */
  wasReplaced(card: Effect): boolean {
    const at = this.#effects.indexOf(card)
    const later = this.#effects.slice(at + 1).filter((one) => one.at === card.at && one.of === card.of)
    const declined = later.findIndex(({ what }) => what === 'decline')
    return declined >= 0 && later.slice(declined + 1).some(({ what, change }) => what === 'card' && change === 'added')
  }
}

/** Returns a key for an effect's record. An order and its return share a key. */
const keyOf = ({ what, id }: Effect) => `${what === 'return' ? 'order' : what} ${id}`
