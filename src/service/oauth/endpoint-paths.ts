/** Seconds, of real time. */
export const lifetimes = {
  accessToken: 15 * 60,
  authorizationCode: 60,
  deviceCode: 10 * 60,
  interaction: 60 * 60,
  session: 60 * 60,
  /** Counted from the last use: each use makes a new one. */
  refreshToken: 60 * 24 * 60 * 60,
  grant: 365 * 24 * 60 * 60,
} as const

/** Where the server's endpoints are, in the service's own paths. */
export const routes = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  userinfo: '/oauth/userinfo',
  code_verification: '/oauth/device',
  device_authorization: '/oauth/device/authorize',
  end_session: '/oauth/sign-out',
} as const
