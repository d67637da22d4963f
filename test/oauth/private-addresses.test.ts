import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { authorizationUrl, createApplication } from './application.ts'
import { openBrowser } from './browser.ts'
import { type FetchingService, openFetchingService } from './published.ts'

/** Creates a self-signed certificate. Returns null if `openssl` is missing or fails. */
function createCertificate(): { key: string; cert: string } | null {
  const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-tls-'))
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const make = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1']
  try {
    execFileSync('openssl', [...make, '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } catch {
    return null
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const tlsFiles = createCertificate()

describe.skipIf(tlsFiles === null)('an application’s metadata document on this machine', () => {
  let port: number
  let running: FetchingService
  const requestedUrls: string[] = []
  const server = createServer(tlsFiles ?? {}, (request, response) => {
    const id = `https://${request.headers.host}${request.url}`
    requestedUrls.push(id)
    response.end(
      JSON.stringify({
        client_id: id,
        client_name: 'Inside',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
      }),
    )
  })

  beforeAll(async () => {
    // Turns off the checks of certificates, so that a request can fail only because of its private address.
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    await new Promise<void>((resolve) => server.listen(0, '::', resolve))
    port = (server.address() as AddressInfo).port
    running = await openFetchingService()
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await running.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  test('the server of the document answers other clients', async () => {
    requestedUrls.length = 0
    expect((await fetch(`https://127.0.0.1:${port}/client.json`)).status).toBe(200)
    expect((await fetch(`https://localhost:${port}/client.json`)).status).toBe(200)
    expect(requestedUrls).toHaveLength(2)
  })

  test.each(['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '[::ffff:127.0.0.1]', '2130706433', '127.1'])(
    'the service does not request the document from %s',
    async (host) => {
      requestedUrls.length = 0
      const { server: authorization, resource, world } = await createApplication(running)
      const client = { client_id: `https://${host}:${port}/client.json` }
      const { url } = await authorizationUrl({ server: authorization, resource, world, client })
      expect((await openBrowser(running).get(url)).status).toBe(400)
      expect(requestedUrls).toEqual([])
    },
  )
})
