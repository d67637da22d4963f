/** Lifetimes in seconds, measured by the real clock and not by the sandbox clock. */
export const lifetimes = {
  accessToken: 15 * 60,
  authorizationCode: 60,
  deviceCode: 10 * 60,
  interaction: 60 * 60,
  session: 60 * 60,
  /** Each use of a refresh token issues a new refresh token, which lasts this long from that use. */
  refreshToken: 60 * 24 * 60 * 60,
  grant: 365 * 24 * 60 * 60,
} as const
