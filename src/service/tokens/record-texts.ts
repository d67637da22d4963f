/**
 * The texts of records from which secrets are derived and signatures made. A root key that is retired leaves what it made
 * of them behind (`carriedTexts`).
 */
export const connectText = (invitationId: string) => `connect ${invitationId}`
export const joinText = (invitationId: string) => `join ${invitationId}`
export const requestText = (requestId: string) => `payment request ${requestId}`
export const shopPageText = (checkoutId: string) => `page of the shop checkout ${checkoutId}`
export const webhookText = (webhookId: string, number: number) => `webhook ${webhookId} ${number}`
export const secondFactorText = (userId: string, nonce: string) => `second factor ${userId} ${nonce}`
/** The id alone, for what was signed before there was anything else to sign. */
export const clientSecretText = (paymentIntentId: string) => paymentIntentId
export const checkoutPageText = (subscriptionId: string) => `checkout page ${subscriptionId}`
export const manageText = (subscriptionId: string) => `checkout manage ${subscriptionId}`
