import {
  type DeviceAuthorizationResponse,
  genericGrantRequest,
  initiateDeviceAuthorization,
  type TokenEndpointResponse,
} from 'openid-client'
import { Failure } from '../core/errors.ts'
import type { System } from '../core/system.ts'
import { deviceGrant, reachServer } from './authorization-server.ts'
import { oauthErrorCode } from './oauth-failure.ts'
import { prepareSignIn, requireEndpoint, type SignIn, type SignInOptions, storeLogin } from './sign-in.ts'

interface DeviceCode {
  /** The address of the page where the person enters the code, on any device. */
  address: string
  userCode: string
}

/** The polling interval if the server states none (RFC 8628 section 3.2). */
const defaultIntervalSeconds = 5
const longestWaitMs = 15 * 60_000

/**
 * Signs in on a machine without a browser (RFC 8628). Calls `show` with the code that the person enters on another
 * device. Resolves once the login is stored. Throws a `Failure` if the sign-in fails.
 */
export async function signInWithDevice(options: SignInOptions, show: (code: DeviceCode) => void): Promise<void> {
  const signIn = await prepareSignIn(options)
  requireEndpoint(signIn, 'device_authorization_endpoint')
  const { config, issuer, scope, resource } = signIn
  const device = await reachServer(issuer, () =>
    initiateDeviceAuthorization(config, { scope, resource, prompt: 'consent' }),
  )
  show({ address: codePage(device, issuer), userCode: device.user_code.replace(/[^\x21-\x7e]/g, '') })
  await storeLogin(options, signIn, await reachServer(issuer, () => poll(signIn, device, options.system)))
}

/**
 * Polls for the tokens. The polling function of openid-client is not used, because it ignores the clock in `system`.
 */
async function poll(
  { config, resource }: SignIn,
  { device_code, expires_in, interval = defaultIntervalSeconds }: DeviceAuthorizationResponse,
  system: System,
): Promise<TokenEndpointResponse> {
  const endMs = system.elapsed() + Math.min(expires_in * 1000, longestWaitMs)
  let waitMs = Math.max(1, interval) * 1000
  while (system.elapsed() + waitMs <= endMs) {
    await system.sleep(waitMs)
    try {
      return await genericGrantRequest(config, deviceGrant, { device_code, resource })
    } catch (error) {
      const code = oauthErrorCode(error)
      // RFC 8628 section 3.5: after `slow_down`, the client waits 5 seconds longer before each request.
      if (code === 'slow_down') waitMs += 5_000
      else if (code !== 'authorization_pending') throw error
    }
  }
  throw new Failure('unauthenticated', {
    detail: 'The code was not entered in time: run payments-mcp login --device again.',
  })
}

/**
 * Returns the address of the page where the person enters the code. The address may use http only if the issuer does.
 */
function codePage({ verification_uri }: DeviceAuthorizationResponse, issuer: string): string {
  const address = URL.parse(verification_uri)
  const secure = address?.protocol === 'https:' || (address?.protocol === 'http:' && issuer.startsWith('http:'))
  if (address !== null && secure) return address.href
  throw new Failure('bad_gateway', {
    detail: `${new URL(issuer).host} gave no https address of a page where the code can be entered.`,
  })
}
