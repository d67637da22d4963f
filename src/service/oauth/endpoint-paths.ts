/** The path of each endpoint of the authorization server. The keys are oidc-provider's names for the endpoints. */
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
