/**
 * Returns the text from which a record's secret is derived. The functions below do the same for other secrets. When a
 * root key is retired, the secrets derived from these texts are kept (`carriedTexts`).
 */
export const connectText = (invitationId: string) => `connect ${invitationId}`
export const joinText = (invitationId: string) => `join ${invitationId}`
export const requestText = (requestId: string) => `payment request ${requestId}`
export const shopPageText = (checkoutId: string) => `page of the shop checkout ${checkoutId}`
export const webhookText = (webhookId: string, number: number) => `webhook ${webhookId} ${number}`
export const secondFactorText = (userId: string, nonce: string) => `second factor ${userId} ${nonce}`
/** Returns only the id, because client secrets were already signed in this way before the other texts existed. */
export const clientSecretText = (paymentIntentId: string) => paymentIntentId
export const checkoutPageText = (subscriptionId: string) => `checkout page ${subscriptionId}`
export const manageText = (subscriptionId: string) => `checkout manage ${subscriptionId}`
