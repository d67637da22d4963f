import type { z } from 'zod'
import type { Whoami } from '../../tools/credentials.ts'
import { createTokenStore } from '../auth/token-store.ts'
import { dataDirectory } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { realSystem } from '../core/system.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainFailures } from './explain-failure.ts'
import { openClient } from './open-client.ts'

type Identity = z.infer<typeof Whoami>

/** Shows the identity under which the MCP server calls the API with these settings. */
export async function whoami(flags: Flags): Promise<void> {
  await explainFailures(async () => {
    const config = commandConfig('whoami', flags)
    // Logs only errors, because the output is for a person.
    const api = openClient(config, realSystem, createLogger({ level: 'error' }))
    try {
      if (config.world !== undefined) await api.ready()
      const { data } = await api.client.operations.whoami({})
      process.stdout.write(identityText(config, data.attributes))
    } finally {
      await api.close()
    }
    if (config.baseUrl === undefined) await printLogins()
  })
}

function identityText({ environment, baseUrl }: Config, identity: Identity['attributes']): string {
  const lines = {
    Address: `${baseUrl ?? 'the embedded sandbox'} (${environment})`,
    'Acts as': actors[identity.actorType] ?? identity.actorType,
    Agent: identity.agentId,
    User: identity.userId,
    Party: identity.partyId,
    Credential: credentialKinds[identity.credentialKind] ?? identity.credentialKind,
    'Agent from': identity.agentIdentitySource && identitySources[identity.agentIdentitySource],
    Key: identity.keyId,
    Grant: identity.grantId,
  }
  return Object.entries(lines)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name.padEnd(10)} ${String(value).replace(/[^\x20-\x7e]+/g, ' ')}\n`)
    .join('')
}

// A newer API may answer with values that are not listed here. They are shown unchanged.
const actors: Readonly<Record<string, string>> = { agent: 'an agent', user: 'a user', party: 'the party' }

const credentialKinds: Readonly<Record<string, string>> = {
  api_key: 'an API key',
  agent_key: 'an agent key',
  oauth_access_token: 'a sign-in',
  exchanged_token: 'a short-lived token from a token exchange',
}

const identitySources: Readonly<Record<string, string>> = {
  credential: 'the credential itself',
  oauth_grant: 'the choice made at sign-in',
  header: 'the request',
}

/** Lists the stored logins. A person who has just signed in may expect the login's identity, not the sandbox's. */
async function printLogins(): Promise<void> {
  const { logins } = await createTokenStore({ directory: dataDirectory().path, system: realSystem }).read()
  for (const address of Object.keys(logins)) {
    process.stdout.write(`\nSigned in at ${address}: payments-mcp whoami --base-url ${address} shows the identity.\n`)
  }
}
