import type { bankTransfers } from '../../../tools/bank-transfers.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const bankTransferHandlers: HandlersOf<typeof bankTransfers> = {
  createDeposit: absent,
  createWithdrawal: absent,
  simulateTransferSettlement: absent,
  simulateTransferFailure: absent,
  simulateTransferReturn: absent,
}
