import type { paymentRequests } from '../../../tools/payment-requests.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const paymentRequestHandlers: HandlersOf<typeof paymentRequests> = {
  createPaymentRequest: absent,
  listPaymentRequests: absent,
  listIncomingPaymentRequests: absent,
  getPaymentRequest: absent,
  fulfillPaymentRequest: absent,
  declinePaymentRequest: absent,
  cancelPaymentRequest: absent,
  simulatePaymentRequestFulfillment: absent,
  simulatePaymentRequestDecline: absent,
}
