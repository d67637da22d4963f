const moneyKinds = ['payment', 'wire', 'transfer', 'purchase', 'capture', 'release', 'refund', 'return'] as const
const shoppingKinds = [
  'order',
  'subscription',
  'card',
  'checkout',
  'decline',
  'approval',
  'question',
  'wallet',
] as const
const authorityKinds = ['limit', 'permission', 'grant', 'key', 'agent', 'user', 'party', 'customer'] as const
const recordKinds = ['invitation', 'link', 'page', 'webhook', 'account', 'request', 'shop', 'setting', 'other'] as const

/** The kinds of effects. Most are named after the record that changes. */
export const effectKinds = [...moneyKinds, ...shoppingKinds, ...authorityKinds, ...recordKinds] as const

export type EffectKind = (typeof effectKinds)[number]
