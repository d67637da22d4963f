/** Lifetimes in seconds of real time. */
export const lifetimes = {
  accessToken: 15 * 60,
  authorizationCode: 60,
  deviceCode: 10 * 60,
  interaction: 60 * 60,
  session: 60 * 60,
  /** Counted from the last use, because each use issues a new token. */
  refreshToken: 60 * 24 * 60 * 60,
  grant: 365 * 24 * 60 * 60,
} as const
