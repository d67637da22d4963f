import type { externalAccounts } from '../../../tools/external-accounts.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const externalAccountHandlers: HandlersOf<typeof externalAccounts> = {
  listExternalAccounts: absent,
  linkExternalAccounts: absent,
  getExternalAccount: absent,
  deleteExternalAccount: absent,
  simulateBankAccountLink: absent,
  simulateBankAccountDisconnection: absent,
}
