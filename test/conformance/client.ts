import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createStoredCredential } from '../../src/auth/stored-credential.ts'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { realSystem } from '../../src/core/system.ts'

/**
 * The client program that the MCP conformance tests run. The last argument is the address of an MCP server, and the
 * environment variable `MCP_CONFORMANCE_CONTEXT` contains the client's id and secrets. The program signs in with
 * `payments-mcp login` and lists the tools.
 */

interface ConformanceContext {
  client_id: string
  client_secret?: string
  private_key_pem?: string
  idp_issuer?: string
  idp_client_id?: string
  idp_id_token?: string
}

const url = String(process.argv.at(-1))
const context = JSON.parse(String(process.env.MCP_CONFORMANCE_CONTEXT)) as ConformanceContext
const directory = await mkdtemp(join(tmpdir(), 'conformance-client-'))
try {
  await promisify(execFile)(process.execPath, [cli(), 'login', '--base-url', url, ...(await loginFlags())], {
    env: { ...process.env, XDG_DATA_HOME: directory },
  })
  const store = createTokenStore({ directory: join(directory, 'payments-mcp'), system: realSystem })
  const credential = createStoredCredential({ baseUrl: url, store, system: realSystem, fetch })
  const headers = { Authorization: `Bearer ${await credential()}` }
  const client = new Client({ name: 'payments-mcp', version: '0.1.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  await client.listTools()
  await client.close()
} finally {
  await rm(directory, { recursive: true })
}

function cli(): string {
  return fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
}

/** Writes the secrets to files. Returns the flags of `login`, which contain the paths of these files. */
async function loginFlags(): Promise<string[]> {
  const proof = await writeSecret('proof', String(context.private_key_pem ?? context.client_secret))
  const application = ['--client-id', context.client_id, '--proof-file', proof]
  if (context.idp_id_token === undefined) return ['--client-credentials', ...application]
  const idToken = await writeSecret('id-token', context.idp_id_token)
  const company = ['--idp', String(context.idp_issuer), '--idp-client-id', String(context.idp_client_id)]
  return ['--enterprise', ...application, ...company, '--id-token-file', idToken]
}

async function writeSecret(name: string, secret: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, secret)
  return path
}
