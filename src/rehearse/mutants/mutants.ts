import { accessActs } from './access-acts.ts'
import { cardActs } from './card-acts.ts'
import { paymentActs, purchaseActs } from './money-acts.ts'
import type { Mutant } from './mutant.ts'
import { omissions, wrongAmounts } from './omissions.ts'
import { recordActs } from './record-acts.ts'

/** All mutants except lies, in the order in which reports list them. */
export const mutants: readonly Mutant[] = [
  ...paymentActs,
  ...purchaseActs,
  ...cardActs,
  ...accessActs,
  ...recordActs,
  ...omissions,
  ...wrongAmounts,
]
