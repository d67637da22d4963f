import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'

/** The name of each host, keyed by the URL of the host's client metadata document. The URL is also the client id. */
const hostNames: Record<string, string> = {
  'https://chatgpt.com/oauth/codex/client.json': 'Codex',
  'https://claude.ai/oauth/claude-code-client-metadata': 'Claude Code',
}

export interface Internet {
  /** The environment variables that make a process use the simulated internet. */
  env: Record<string, string>
  /** The URLs that were fetched. */
  fetched: readonly string[]
  close(): Promise<void>
}

/**
 * Starts a proxy on loopback. For sign-ins, the proxy simulates the internet: it serves the hosts' client metadata
 * documents at their real URLs. Only processes with the returned environment trust the proxy's certificate.
 * @param folder The folder for the proxy's key and certificate.
 */
export async function startInternet(folder: string): Promise<Internet> {
  const names = Object.keys(hostNames).map((address) => `DNS:${new URL(address).hostname}`)
  const [key, cert] = [join(folder, 'internet.key'), join(folder, 'internet.pem')]
  const subject = ['-subj', '/CN=internet', '-addext', `subjectAltName=${names.join(',')}`]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const fetched: string[] = []
  const site = createHttpServer((request, response) => {
    const address = `https://${request.headers.host}${request.url}`
    fetched.push(address)
    const name = hostNames[address]
    response.writeHead(name === undefined ? 404 : 200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(name === undefined ? {} : documentOf(address, name)))
  })
  const secure = { isServer: true, key: readFileSync(key), cert: readFileSync(cert) }
  const proxy = createHttpServer()
  proxy.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    const inside = new TLSSocket(socket as never, secure)
    inside.on('error', () => socket.destroy())
    site.emit('connection', inside)
  })
  proxy.listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    env: { HTTPS_PROXY: address, NODE_EXTRA_CA_CERTS: cert },
    fetched,
    close: async () => {
      proxy.closeAllConnections()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

const documentOf = (address: string, name: string) => ({
  client_id: address,
  client_name: name,
  redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
})
