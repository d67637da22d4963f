import { expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'

/**
 * The operations that change data, grouped by why the repeat guard covers them or does not. The repeat guard recognizes
 * a call that equals an earlier call, so that nothing happens twice by accident.
 */
const classes = {
  'moves money or creates a record': [
    'create_agent',
    'create_agent_customer_invitation',
    'create_deposit',
    'create_internal_transfer',
    'create_payment',
    'create_payment_request',
    'create_subscription',
    'create_wallet',
    'create_webhook',
    'create_wire',
    'create_withdrawal',
    'fund_sandbox_wallet',
    'issue_agent_card',
    'rotate_agent_key',
    'rotate_webhook_secret',
  ],
  'changes a state, so a second call changes nothing more': [
    'approve_approval',
    'attach_wallet_agent',
    'cancel_payment',
    'cancel_payment_request',
    'cancel_subscription',
    'clear_party_limits',
    'create_party_invitations',
    'decline_payment_request',
    'delete_agent',
    'delete_external_account',
    'delete_webhook',
    'deny_approval',
    'detach_wallet_agent',
    'freeze_agent_card',
    'freeze_wallet',
    'fulfill_payment_request',
    'link_external_accounts',
    'mark_subscription_payment_paid',
    'remove_agent_customer',
    'remove_customer',
    'remove_customer_agent',
    'remove_party_member',
    'resume_subscription',
    'return_shop_order',
    'revoke_agent_invitation',
    'revoke_agent_key',
    'revoke_api_key',
    'revoke_application',
    'revoke_customer_invitation',
    'revoke_invitation_link',
    'revoke_party_invitation',
    'revoke_trusted_issuer',
    'set_agent_default_wallet',
    'set_default_wallet',
    'set_party_handle',
    'set_party_limits',
    'unfreeze_agent_card',
    'unfreeze_wallet',
    'update_agent',
    'update_application',
    'update_party',
    'update_trusted_issuer',
    'update_wallet',
    'update_webhook',
  ],
  'creates a record without an idempotency key, so the guard stores the answer': [
    'create_agent_key',
    'create_api_key',
    'create_application',
    'create_customer_invitation',
    'create_invitation_link',
    'create_trusted_issuer',
  ],
  // A cart costs nothing, a paid cart cannot be paid again, and a resent event has the id of the original.
  'does no harm if done twice': ['pay_shop_checkout', 'resend_event', 'send_test_event', 'start_shop_checkout'],
  // The guard does not store the answer, because the link in a stored answer might already have been used.
  'creates a link that works once': ['create_agent_card_details_page'],
} as const

test('every operation that changes data is in one class, and the repeat guard covers those that move money or create records', () => {
  const operations = Object.values<OperationDefinition>(catalogue)
  const isRehearsal = ({ name, toolsets }: OperationDefinition) =>
    name.startsWith('simulate_') || toolsets.includes('sandbox')
  const changing = operations.filter((operation) => operation.effect !== 'read' && !isRehearsal(operation))
  expect(changing.map(({ name }) => name).sort()).toEqual(Object.values(classes).flat().sort())
  const guarded = operations.filter(({ adds }) => adds === true)
  const answers = classes['creates a record without an idempotency key, so the guard stores the answer']
  const expected = [...classes['moves money or creates a record'], ...answers].sort()
  expect(guarded.map(({ name }) => name).sort()).toEqual(expected)
  expect(guarded.filter(({ method }) => method !== 'POST')).toEqual([])
  // The operations in `answers` ignore idempotency keys. For all other guarded operations, the API recognizes a repeat
  // by its key.
  expect(
    guarded
      .filter(({ idempotency }) => idempotency === 'ignored')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(answers)
})
