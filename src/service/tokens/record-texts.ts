/**
 * Returns the string from which the secret of an invitation to connect is derived. Each function below returns such a
 * string for a different kind of secret. When a root key is retired, the secrets that were derived from it and are
 * still needed are stored (`derivationTexts`).
 */
export const connectText = (invitationId: string) => `connect ${invitationId}`
export const joinText = (invitationId: string) => `join ${invitationId}`
export const requestText = (requestId: string) => `payment request ${requestId}`
export const shopPageText = (checkoutId: string) => `page of the shop checkout ${checkoutId}`
export const webhookText = (webhookId: string, number: number) => `webhook ${webhookId} ${number}`
export const secondFactorText = (userId: string, nonce: string) => `second factor ${userId} ${nonce}`
/**
 * Returns the id alone, although the other strings have a prefix. Client secrets were already derived from the id alone
 * when the other kinds of secrets were added.
 */
export const clientSecretText = (paymentIntentId: string) => paymentIntentId
export const checkoutPageText = (subscriptionId: string) => `checkout page ${subscriptionId}`
export const manageText = (subscriptionId: string) => `checkout manage ${subscriptionId}`
