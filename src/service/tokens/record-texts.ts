/**
 * Returns the string from which the secret of an invitation to connect is derived. Each function below does the same
 * for another kind of secret. When a root key is retired, the secrets that it derived are stored (`carriedTexts`).
 */
export const connectText = (invitationId: string) => `connect ${invitationId}`
export const joinText = (invitationId: string) => `join ${invitationId}`
export const requestText = (requestId: string) => `payment request ${requestId}`
export const shopPageText = (checkoutId: string) => `page of the shop checkout ${checkoutId}`
export const webhookText = (webhookId: string, number: number) => `webhook ${webhookId} ${number}`
export const secondFactorText = (userId: string, nonce: string) => `second factor ${userId} ${nonce}`
/** Returns the id without a prefix, because client secrets are older than the other secrets and must stay valid. */
export const clientSecretText = (paymentIntentId: string) => paymentIntentId
export const checkoutPageText = (subscriptionId: string) => `checkout page ${subscriptionId}`
export const manageText = (subscriptionId: string) => `checkout manage ${subscriptionId}`
