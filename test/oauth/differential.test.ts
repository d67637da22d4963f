import * as client from 'openid-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  allow,
  begin,
  connect,
  idOf,
  outcomeOf,
  post,
  presentCode,
  presentRefreshToken,
  requestAuthorization,
  requestToken,
  scope,
} from './script.ts'
import { openPlain, openService, redirectUri, type Side } from './sides.ts'

/** A script that runs against this service and against a plain `oidc-provider`, and the result expected from both. */
interface Case {
  run: (side: Side) => Promise<string>
  /**
   * The expected result, such as `400 invalid_grant`. An authorization request `asks` a person, shows an error `page`,
   * or redirects `back` to the application.
   */
  outcome: string
  /** The expected result of the plain provider if it differs from `outcome`, and the reason. */
  plain?: { outcome: string; why: string }
}

const cases: Record<string, Case> = {
  'a valid authorization request': { run: requestAuthorization({}), outcome: 'asks' },
  'an authorization request without a state': { run: requestAuthorization({ state: null }), outcome: 'asks' },
  'an authorization request with an unknown scope': {
    run: requestAuthorization({ scope: `${scope} everything` }),
    outcome: 'asks',
  },
  'an authorization request without PKCE': {
    run: requestAuthorization({ code_challenge: null, code_challenge_method: null }),
    outcome: 'back with invalid_request',
  },
  'an authorization request with the PKCE method plain': {
    run: requestAuthorization({ code_challenge_method: 'plain' }),
    outcome: 'back with invalid_request',
  },
  'an authorization request without a PKCE method (plain by default)': {
    run: requestAuthorization({ code_challenge_method: null }),
    outcome: 'back with invalid_request',
  },
  'an authorization request with a challenge that is too short': {
    run: requestAuthorization({ code_challenge: 'short' }),
    outcome: 'back with invalid_request',
  },
  'an authorization request with a redirect to another port of this machine': {
    run: requestAuthorization({ redirect_uri: 'http://127.0.0.1:1/callback' }),
    outcome: 'asks',
  },
  ...Object.fromEntries(
    [
      'https://evil.example/callback',
      'http://127.0.0.1:53682/other',
      'http://127.0.0.1:53682/callback/more',
      'http://127.0.0.1:53682/callbacks',
      'http://127.0.0.1:53682/callback?extra=1',
      'http://127.0.0.1:53682/callback#fragment',
      'http://127.0.0.1:53682/x/../callback/.',
      'http://127.0.0.1.evil.example/callback',
      'http://127.0.0.1@evil.example/callback',
      'http://localhost:53682/callback',
      'https://127.0.0.1:53682/callback',
      'javascript:alert(1)',
    ].map((redirect_uri) => [
      `an authorization request with a redirect to ${redirect_uri}`,
      { run: requestAuthorization({ redirect_uri }), outcome: 'page 400' },
    ]),
  ),
  'an invalid authorization request with an unregistered redirect URI': {
    run: requestAuthorization({ redirect_uri: 'https://evil.example/', response_type: 'token', code_challenge: null }),
    outcome: 'page 400',
  },
  'an authorization request from an unregistered client': {
    run: requestAuthorization({ client_id: 'unknown' }),
    outcome: 'page 400',
  },
  'an authorization request without a client': { run: requestAuthorization({ client_id: null }), outcome: 'page 400' },
  ...Object.fromEntries(
    ['token', 'id_token', 'code token', 'id_token token', 'none'].map((response_type) => [
      `an authorization request for the response type ${response_type}`,
      { run: requestAuthorization({ response_type }), outcome: 'back with unsupported_response_type' },
    ]),
  ),
  'an authorization request that forbids any prompt': {
    run: requestAuthorization({ prompt: 'none' }),
    outcome: 'back with login_required',
  },
  'an authorization request for an unknown resource': {
    run: requestAuthorization({ resource: 'https://elsewhere.example' }),
    outcome: 'back with invalid_target',
  },
  'an authorization request for a resource that is not a URL': {
    run: requestAuthorization({ resource: 'wallet' }),
    outcome: 'back with invalid_target',
  },
  'an authorization request with a request object': {
    run: requestAuthorization({ request: 'e30.e30.' }),
    outcome: 'back with request_not_supported',
  },
  'an authorization request with the URL of a request object': {
    run: requestAuthorization({ request_uri: 'https://evil.example/request' }),
    outcome: 'back with request_uri_not_supported',
  },
  'an authorization request that the person denies': {
    run: async (side) => String((await side.answer((await begin(side)).url, 'deny')).searchParams.get('error')),
    outcome: 'access_denied',
  },

  'a valid code': { run: presentCode({}), outcome: '200' },
  'the whole flow': {
    run: async (side) => String((await connect(side)).scope),
    outcome: 'cards:agent',
  },
  'the whole flow without a state': {
    run: async (side) => (await connect(side, { state: null })).token_type,
    outcome: 'bearer',
  },
  'the whole flow with an unknown scope': {
    run: async (side) => String((await connect(side, { scope: `${scope} everything` })).scope),
    outcome: 'cards:agent',
  },
  'a code with the wrong verifier': {
    run: presentCode({ code_verifier: 'v'.repeat(43) }),
    outcome: '400 invalid_grant',
  },
  'a code without its verifier': { run: presentCode({ code_verifier: null }), outcome: '400 invalid_grant' },
  'a code with another redirect URI': {
    run: presentCode({ redirect_uri: 'http://127.0.0.1:53683/callback' }),
    outcome: '400 invalid_grant',
  },
  'a code without its redirect URI': { run: presentCode({ redirect_uri: null }), outcome: '400 invalid_grant' },
  'a code presented by another client': {
    run: presentCode(({ other }) => ({ client_id: idOf(other) })),
    outcome: '400 invalid_grant',
  },
  'an unknown code': { run: presentCode({ code: 'c'.repeat(43) }), outcome: '400 invalid_grant' },
  'a token request without its code': { run: presentCode({ code: null }), outcome: '400 invalid_request' },
  'a code from an unregistered client': { run: presentCode({ client_id: 'unknown' }), outcome: '401 invalid_client' },
  'a code without a client': { run: presentCode({ client_id: null }), outcome: '400 invalid_request' },
  'a code with a secret from a client that has none': {
    run: presentCode({ client_secret: 'secret' }),
    outcome: '401 invalid_client',
  },
  'a code with another client in the Authorization header': {
    run: presentCode({}, { authorization: `Basic ${btoa('client:secret')}` }),
    outcome: '400 invalid_request',
  },
  'a code presented for another resource': {
    run: presentCode(({ otherResource }) => ({ resource: otherResource })),
    outcome: '400 invalid_target',
  },
  'a code presented for an unknown resource': {
    run: presentCode({ resource: 'https://elsewhere.example' }),
    outcome: '400 invalid_target',
  },
  'an expired code': {
    run: async (side) => {
      const { code, verifier } = await allow(side)
      vi.setSystemTime(Date.now() + 61_000)
      const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
      return requestToken(side, form)
    },
    outcome: '400 invalid_grant',
  },
  'the second use of a code (which revokes the tokens from the first use)': {
    run: async (side) => {
      const { back, verifier, code, state } = await allow(side)
      const checks = { pkceCodeVerifier: verifier, expectedState: String(state) }
      const tokens = await client.authorizationCodeGrant(side.application, back, checks)
      const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
      const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) }
      return `${await requestToken(side, form)}, ${await requestToken(side, refresh)}`
    },
    outcome: '400 invalid_grant, 400 invalid_grant',
  },

  'a valid refresh': { run: presentRefreshToken({}), outcome: '200' },
  'a refresh with fewer scopes': { run: presentRefreshToken({ scope: 'cards:agent' }), outcome: '200' },
  'a refresh with more scopes': {
    run: presentRefreshToken({ scope: `${scope} openid` }),
    outcome: '400 invalid_scope',
  },
  'a refresh for another resource': {
    run: presentRefreshToken(({ otherResource }) => ({ resource: otherResource })),
    outcome: '400 invalid_target',
  },
  'a refresh for an unknown resource': {
    run: presentRefreshToken({ resource: 'https://elsewhere.example' }),
    outcome: '400 invalid_target',
  },
  'a refresh by another client': {
    run: presentRefreshToken(({ other }) => ({ client_id: idOf(other) })),
    outcome: '400 invalid_grant',
  },
  'a refresh with an unknown token': {
    run: presentRefreshToken({ refresh_token: 'r'.repeat(43) }),
    outcome: '400 invalid_grant',
  },
  'an access token presented as a refresh token': {
    run: async (side) => {
      const refresh_token = (await connect(side)).access_token
      return requestToken(side, { grant_type: 'refresh_token', refresh_token })
    },
    outcome: '400 invalid_grant',
  },
  'the second use of a refresh token (which revokes the newer token too)': {
    run: async (side) => {
      const refresh_token = String((await connect(side)).refresh_token)
      const next = await client.refreshTokenGrant(side.application, refresh_token)
      const again = (token: unknown) =>
        requestToken(side, { grant_type: 'refresh_token', refresh_token: String(token) })
      return `${await again(refresh_token)}, ${await again(next.refresh_token)}`
    },
    outcome: '400 invalid_grant, 400 invalid_grant',
  },
  'a refresh after the token was revoked': {
    run: async (side) => {
      const refresh_token = String((await connect(side)).refresh_token)
      await client.tokenRevocation(side.application, refresh_token)
      return requestToken(side, { grant_type: 'refresh_token', refresh_token })
    },
    outcome: '400 invalid_grant',
  },
  'a refresh after another client tried to revoke the token': {
    run: async (side) => {
      const refresh_token = String((await connect(side)).refresh_token)
      await client.tokenRevocation(side.other, refresh_token).catch(() => undefined)
      return requestToken(side, { grant_type: 'refresh_token', refresh_token })
    },
    outcome: '200',
  },

  ...Object.fromEntries(
    ['password', 'implicit', 'anything'].map((grant_type) => [
      `a token request with the grant type ${grant_type}`,
      {
        run: (side: Side) => requestToken(side, { grant_type, username: 'a', password: 'b', scope }),
        outcome: '400 unsupported_grant_type',
      },
    ]),
  ),
  'a client credentials request from a client that is not allowed to make one': {
    run: (side) => requestToken(side, { grant_type: 'client_credentials', scope }),
    outcome: '400 invalid_request',
    plain: { outcome: '400 unsupported_grant_type', why: 'It does not support client credentials.' },
  },
  'a token request without a grant type': { run: (side) => requestToken(side, {}), outcome: '400 invalid_request' },
  'a token request with a repeated parameter': {
    run: async (side) => {
      const twice = `client_id=${idOf(side.application)}&grant_type=refresh_token&refresh_token=a&refresh_token=b`
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return outcomeOf(await post(side, 'token_endpoint', twice, headers))
    },
    outcome: '400 invalid_request',
  },
  'a token request in JSON': {
    run: async (side) =>
      outcomeOf(
        await post(side, 'token_endpoint', '{"grant_type":"refresh_token"}', { 'content-type': 'application/json' }),
      ),
    outcome: '400 invalid_request',
  },
}

describe('OAuth requests to this service and to a plain oidc-provider', () => {
  let ours: Side
  let plain: Side

  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    ours = await openService()
    plain = await openPlain()
  })
  afterAll(async () => {
    vi.useRealTimers()
    await Promise.all([ours.close(), plain.close()])
  })

  test.each(Object.entries(cases))('%s gets the expected result', async (_name, { run, outcome, plain: exception }) => {
    expect({ ours: await run(ours), plain: await run(plain) }).toEqual({
      ours: outcome,
      plain: exception?.outcome ?? outcome,
    })
  })
})
