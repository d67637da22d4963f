import { expect, test } from 'vitest'
import { type Authority, allows, type Permission, permissions, refusalOf } from '../../src/core/permissions.ts'

const allowed = (authority: Authority) =>
  (Object.keys(permissions) as Permission[]).filter((permission) => allows(authority, permission))
const key: Authority = { actorType: 'party', scopes: [], grant: null }

test('an API key has the permissions of its scopes, and the permissions that every key has', () => {
  expect(allowed(key)).toEqual(['identity.read', 'events.read', 'clock.use', 'shops.read', 'sandbox.manage'])
  expect(allowed({ ...key, scopes: ['wallets.transfer'] })).toEqual([
    'identity.read',
    'wallets.transfer',
    'events.read',
    'clock.use',
    'shops.read',
    'sandbox.manage',
  ])
  // If the scopes of a key are unknown, only the permissions that no key can have are refused.
  expect(refusalOf({ ...key, scopes: undefined }, 'cards.issue')).toBe('agentsOnly')
  expect(allowed({ ...key, scopes: undefined })).toEqual(allowed({ ...key, actorType: 'user' }))
})

test('an agent has exactly the permissions of the agent policy, and its scopes do not matter', () => {
  const agent: Authority = { ...key, actorType: 'agent' }
  const policy = Object.entries(permissions).flatMap(([name, rule]) => (rule.agent ? [name] : []))
  expect(allowed(agent)).toEqual(policy)
  expect(refusalOf({ ...agent, scopes: ['agents.delete'] }, 'agents.delete')).toBe('policy')
})

test('an application has only the permissions of its OAuth grant, whether it acts as an agent or as a user', () => {
  const grant = { scopes: ['cards:agent'] }
  expect(allowed({ actorType: 'agent', scopes: [], grant })).toEqual([
    'identity.read',
    'cards.issue',
    'cards.read',
    'cards.freeze',
    'cards.simulate',
    'clock.use',
    'shops.read',
    'shops.buy',
    'sandbox.manage',
  ])
  expect(refusalOf({ actorType: 'user', scopes: [], grant }, 'wallets.read')).toBe('grant')
})
