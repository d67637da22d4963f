import { scopes } from '../core/permissions.ts'
import type { World } from './schema.ts'

type Party = World['parties'][number]

/**
 * Returns the world for a new production database. Its only party has either an owner who signs in, or keys that are
 * set at startup.
 */
export function productionWorld(first: { email: string; name: string } | 'keys'): World {
  return { name: 'Production', rehearsal: false, parties: [first === 'keys' ? withKeys() : withOwner(first)] }
}

function withKeys(): Party {
  return {
    ...party(),
    displayName: 'Organization',
    agents: [{ ref: 'agent', name: 'Agent', keys: [{ ref: 'main' }], status: 'ACTIVE' }],
    apiKeys: [{ ref: 'main', name: 'API key', scopes: [...scopes] }],
  }
}

function withOwner({ email, name }: { email: string; name: string }): Party {
  return { ...party(), displayName: name, email, users: [{ ref: 'owner', email, role: 'OWNER' }], apiKeys: [] }
}

function party(): Party {
  return {
    ref: 'organization',
    type: 'ORG',
    issuedCardsEnabled: true,
    wallets: [{ ref: 'main', displayName: 'Main wallet', status: 'active', walletType: 'standard' }],
  }
}
