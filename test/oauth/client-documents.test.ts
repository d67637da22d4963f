import * as oauth from 'oauth4webapi'
import { afterEach, describe, expect, test } from 'vitest'
import {
  type Application,
  authorizationUrl,
  callback,
  consent,
  createApplication,
  exchangeCode,
  transport,
} from './application.ts'
import { openBrowser } from './browser.ts'
import { type FetchingService, openFetchingService, openSite, type Site, siteAddress } from './published.ts'

/** The changes to the default metadata document, by the path at which the changed document is served. */
const documentChanges: Record<string, object> = {
  '/client.json': { application_type: undefined },
  '/other-client-id.json': { client_id: `${siteAddress}/client.json` },
  '/without-id.json': { client_id: undefined },
  '/long.json': { client_name: 'n'.repeat(6000) },
  '/with-secret.json': { client_secret: 'secret' },
  '/with-secret-method.json': { token_endpoint_auth_method: 'client_secret_post' },
  '/over-http.json': { redirect_uris: ['http://app.example/callback'], application_type: 'web' },
  '/with-script.json': { redirect_uris: ['javascript:alert(1)'] },
  '/implicit.json': { grant_types: ['implicit'], response_types: ['token'] },
  '/with-sector.json': { sector_identifier_uri: `${siteAddress}/sector` },
}

const documentFor = (path: string) => ({
  client_id: siteAddress + path,
  client_name: 'A published application',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...documentChanges[path],
})

const faultyResponses: Record<string, Parameters<typeof openSite>[0]> = {
  '/moved.json': (_request, response) => response.writeHead(302, { location: '/client.json' }).end(),
  '/missing.json': (_request, response) => response.writeHead(404).end(JSON.stringify(documentFor('/missing.json'))),
  '/created.json': (_request, response) => response.writeHead(201).end(JSON.stringify(documentFor('/created.json'))),
  '/page.json': (_request, response) => response.end('<html></html>'),
  '/list.json': (_request, response) => response.end(JSON.stringify([documentFor('/list.json')])),
}

describe('client id metadata documents', () => {
  let site: Site
  let running: FetchingService
  let registered: Application
  let connectionClosed: Promise<void>
  let writtenKiB = 0

  const start = async () => {
    let markClosed = () => {}
    connectionClosed = new Promise((resolve) => {
      markClosed = resolve
    })
    site = await openSite((request, response) => {
      const path = String(request.url)
      if (path === '/endless.json') {
        response.on('close', markClosed)
        const more = () => {
          writtenKiB += 1
          response.write('n'.repeat(1024), (error) => error == null && setImmediate(more))
        }
        return more()
      }
      const respond = faultyResponses[path]
      if (respond !== undefined) return respond(request, response)
      response.end(JSON.stringify(documentFor(path)))
    })
    running = await openFetchingService(site.fetch)
    registered = await createApplication(running)
  }
  afterEach(async () => {
    await running.close()
    await site.close()
  })

  const applicationWithId = (clientId: string) => ({ ...registered, client: { client_id: clientId } })
  const statusOf = async (clientId: string) =>
    (await openBrowser(running).get((await authorizationUrl(applicationWithId(clientId))).url)).status

  test('an application can connect and refresh with a metadata document that is fetched only once', async () => {
    await start()
    const application = applicationWithId(`${siteAddress}/client.json`)
    const attempt = await authorizationUrl(application)
    const browser = openBrowser(running)
    const back = await consent(browser, attempt.url)
    // The redirect URI in the document has no port. For a redirect to the person's machine, any port is allowed.
    expect(back.url).toContain(callback)
    const tokens = await exchangeCode(application, attempt, back.url)
    const { server, client } = application
    const request = oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      tokens.refresh_token,
      transport(running),
    )
    const next = await oauth.processRefreshTokenResponse(server, client, await request)
    const headers = { authorization: `Bearer ${next.access_token}` }
    expect((await running.service.fetch(new Request(`${server.issuer}/whoami`, { headers }))).status).toBe(200)
    expect((await browser.get('/connections')).text).toContain('A published application')
    expect(site.requestedUrls).toEqual(['/client.json'])
  })

  test('an application whose document is invalid is refused', async () => {
    await start()
    expect(await statusOf(`${siteAddress}/another.json`)).toBe(200)
    const paths = [...Object.keys(documentChanges), ...Object.keys(faultyResponses)]
    for (const path of paths.filter((name) => !['/client.json', '/with-sector.json'].includes(name))) {
      expect([path, await statusOf(siteAddress + path)]).toEqual([path, 400])
    }
    // The service did not follow the redirect.
    expect(site.requestedUrls).toContain('/moved.json')
    expect(site.requestedUrls).not.toContain('/client.json')
  })

  test('a document that contains another URL is accepted, and that URL is not fetched', async () => {
    await start()
    expect(await statusOf(`${siteAddress}/with-sector.json`)).toBe(200)
    expect(site.requestedUrls).toEqual(['/with-sector.json'])
  })

  test('the service stops reading an endless document', async () => {
    await start()
    expect(await statusOf(`${siteAddress}/endless.json`)).toBe(400)
    await connectionClosed
    // The site may write more than the service reads, because the buffers between them hold some of the data.
    expect(writtenKiB).toBeLessThan(2000)
  })

  test('a client id that is not a plain https URL is refused, and nothing is fetched', async () => {
    await start()
    for (const id of [
      'http://app.example/client.json',
      'https://user@app.example/client.json',
      'https://app.example/client.json#fragment',
      'https://app.example/a/../client.json',
      'https://app.example/%2e%2e/client.json',
      'https://app.example\\client.json',
      'ftp://app.example/client.json',
    ]) {
      expect([id, await statusOf(id)]).toEqual([id, 400])
    }
    expect(site.requestedUrls).toEqual([])
  })

  test('requests from one IP address cause at most 60 fetches a minute, whatever other addresses do', async () => {
    await start()
    const serviceFrom = (address: string) => ({
      service: { fetch: (request: Request) => running.service.fetch(request, { local: true, address }) },
    })
    const statusFrom = async (address: string, path: string) =>
      (await openBrowser(serviceFrom(address)).get((await authorizationUrl(applicationWithId(siteAddress + path))).url))
        .status
    for (let count = 0; count < 60; count++) expect(await statusFrom('192.0.2.1', `/${count}.json`)).toBe(200)
    expect(await statusFrom('192.0.2.1', '/one-more.json')).toBe(400)
    expect(site.requestedUrls).toHaveLength(60)
    expect(await statusFrom('192.0.2.2', '/client.json')).toBe(200)
    // A cached document is not fetched again, so the request does not count toward the 60 fetches.
    expect(await statusFrom('192.0.2.1', '/0.json')).toBe(200)
    expect(site.requestedUrls).toHaveLength(61)
  })
})

describe('the availability of metadata documents', () => {
  let site: Site
  let running: FetchingService
  let reachable: boolean
  afterEach(async () => {
    await running.close()
    await site.close()
  })

  const id = `${siteAddress}/client.json?key=unseen-4711`
  const start = async (headers: Record<string, string> = {}) => {
    reachable = true
    site = await openSite((_request, response) => {
      response.writeHead(200, headers).end(JSON.stringify({ ...documentFor('/client.json'), client_id: id }))
    })
    const fetching: typeof fetch = async (input, init) => {
      if (reachable) return site.fetch(input, init)
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }) })
    }
    running = await openFetchingService(fetching)
  }
  const applicationFor = async (service: FetchingService) => ({
    ...(await createApplication(service)),
    client: { client_id: id },
  })
  const openAuthorizationPage = async (service: FetchingService) =>
    openBrowser(service).get((await authorizationUrl(await applicationFor(service))).url)
  const refreshTokens = async (service: FetchingService, refreshToken: string) => {
    const { server, client } = await applicationFor(service)
    const request = oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, transport(service))
    return oauth.processRefreshTokenResponse(server, client, await request)
  }

  test('a stored document survives a restart: sign-ins use it while it is fresh, and token refreshes even later', async () => {
    await start({ 'cache-control': 'public, max-age=3600' })
    const application = await applicationFor(running)
    const attempt = await authorizationUrl(application)
    const back = await consent(openBrowser(running), attempt.url)
    let { refresh_token } = await exchangeCode(application, attempt, back.url)
    expect(site.requestedUrls).toHaveLength(1)
    reachable = false
    const later = running.restarted()
    expect((await openAuthorizationPage(later)).status).toBe(200)
    running.system.pass(3_601_000)
    const muchLater = running.restarted()
    refresh_token = String((await refreshTokens(muchLater, refresh_token)).refresh_token)
    expect((await openAuthorizationPage(running.restarted())).status).toBe(400)
    reachable = true
    expect((await openAuthorizationPage(running.restarted())).status).toBe(200)
    expect(site.requestedUrls).toHaveLength(2)
  })

  test('if a fetch fails, the error page shows the document’s URL and a fix, and one warning is logged', async () => {
    await start()
    reachable = false
    const page = await openAuthorizationPage(running)
    expect(page.status).toBe(400)
    for (const word of [
      'https://app.example/client.json',
      'ENOTFOUND',
      'HTTPS_PROXY',
      'PAYMENTS_CLIENT_METADATA=off',
    ]) {
      expect(page.text).toContain(word)
    }
    expect(page.text + running.logged.join()).not.toContain('unseen-4711')
    expect(running.logged.filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringMatching(/^warn the metadata document .*"https:\/\/app.example\/client.json".*ENOTFOUND/),
    ])
  })

  test.each([
    { clientMetadata: 'auto', publicUrl: 'http://127.0.0.1:4010', announced: false, status: 200 },
    { clientMetadata: 'auto', publicUrl: 'https://payments.example', announced: true, status: 200 },
    { clientMetadata: 'on', publicUrl: 'http://127.0.0.1:4010', announced: true, status: 200 },
    { clientMetadata: 'off', publicUrl: 'https://payments.example', announced: false, status: 400 },
  ] as const)(
    'with clientMetadata $clientMetadata at $publicUrl: support announced $announced, sign-in status $status',
    async ({ clientMetadata, publicUrl, announced, status }) => {
      await start()
      const restarted = running.restarted({ clientMetadata, publicUrl: () => publicUrl })
      const found = await restarted.service.fetch(new Request(`${publicUrl}/.well-known/oauth-authorization-server`))
      const { client_id_metadata_document_supported: isSupported } = (await found.json()) as Record<string, unknown>
      expect(isSupported ?? false).toBe(announced)
      const application = {
        ...(await createApplication(restarted, {}, `${publicUrl}/mcp`, publicUrl)),
        client: { client_id: id },
      }
      const { url } = await authorizationUrl(application)
      expect((await openBrowser(restarted, publicUrl).get(url)).status).toBe(status)
    },
  )
})
