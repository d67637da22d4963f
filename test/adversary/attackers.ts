import type { OperationDefinition } from '../../src/core/operation.ts'
import { agentMustHold, delegable, oauthScopes, permissions, type Scope, scopes } from '../../src/core/permissions.ts'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import { addGrant, type Grounds } from '../isolation/places.ts'
import type { Sample } from '../isolation/samples.ts'
import { addAgent, addDelegation, addKey, addParty, addUserToken, type World } from '../support/world.ts'

/**
 * A caller that lacks some permissions. It requests every operation on the records of a party and of that party's
 * agent.
 */
export interface Attacker {
  name: string
  /** The credential that the attacker sends; `null` if it sends none. */
  credential: string | null
  /** The secret of a browser session, which the attacker sends in a cookie. */
  session?: string
  /** The party whose activity records the attacker's requests; `undefined` if the service cannot identify a party. */
  partyId?: string
  /** The customer for whom the attacker acts, in requests that can name a customer. */
  customerPartyId?: string
  /** Returns the statuses with which the request may be refused; `undefined` if the attacker may make the request. */
  refusalStatuses(operation: OperationDefinition, sample: Sample): readonly number[] | undefined
}

const ruleOf = ({ permission }: OperationDefinition) => permissions[permission]

/** Returns whether the path contains the id of a private record. Shops are public, so their ids do not count. */
const hasPrivateId = ({ params }: OperationDefinition) =>
  Object.keys(params?.shape ?? {}).some((name) => name !== 'shopId')

const refusalsForStranger: Attacker['refusalStatuses'] = (operation, sample) =>
  hasPrivateId(operation) || sample.reach === 'connected' ? [403, 404] : undefined

const refusalsByPolicy: Attacker['refusalStatuses'] = (operation, { who }) =>
  who === 'owners' || !ruleOf(operation).agent ? [403] : undefined

/** Returns the refusal statuses for an agent of the party that has permissions only on the party's other wallet. */
const refusalsOnOtherWallet = (operation: OperationDefinition) => {
  // Even such an agent may read its party, and all of the party's wallets and bank accounts
  // (docs/service.md#agent-policy).
  const isAllowedRead = ['party.read', 'wallets.read', 'external_accounts.read'].includes(operation.permission)
  const needsWallet = agentMustHold(operation.permission) !== null && !isAllowedRead
  return hasPrivateId(operation) && needsWallet ? [403, 404] : undefined
}

export async function attackersOf(on: Grounds): Promise<Attacker[]> {
  const { world, places, credentials } = on
  const { partyId, agentId, walletId } = places.own
  const keyWith = (scope: Scope) => addKey(world, { partyId, agentId: null, scopes: [scope] })
  const other = await world.store.read(({ db }) =>
    db
      .selectFrom('wallets')
      .select('id')
      .where('partyId', '=', partyId)
      .where('id', '<>', walletId)
      .executeTakeFirstOrThrow(),
  )
  const colleague = await addAgent(world, partyId, other.id, delegable)
  const removed = await addParty(world)
  await addDelegation(world, { customerPartyId: removed.partyId, agentPartyId: partyId, agentId })
  const removal = await world.send('DELETE', `/customers/${removed.partyId}`, { key: places.own.apiKey })
  if (removal.status !== 200) throw new Error(removal.text)
  const { token: userToken, userId } = await addUserToken(world, places.stranger.partyId)
  const grantOf = async (actor: string | null) => {
    const scopes = Object.keys(oauthScopes)
    return (await addGrant(world, { partyId: places.stranger.partyId, userId, agentId: actor, scopes })).token
  }
  const [userGrant, agentGrant] = [await grantOf(null), await grantOf(places.stranger.agentId)]
  const session = await startOwnerSession(world)
  const singleScopeKeys = scopes.map(
    async (scope): Promise<Attacker> => ({
      name: `a key with only ${scope}`,
      credential: await keyWith(scope),
      partyId,
      refusalStatuses: (operation, { who }) => {
        const { apiKey } = ruleOf(operation)
        return who !== 'agents' && (apiKey === scope || apiKey === 'any') ? undefined : [403]
      },
    }),
  )
  return [
    { name: 'a caller without a credential', credential: null, refusalStatuses: () => [401] },
    { name: 'a made-up key', credential: `ak_ntl_sandbox_${'x'.repeat(32)}`, refusalStatuses: () => [401] },
    { name: 'a token of an ended grant', credential: credentials['ended grant'], refusalStatuses: () => [401] },
    { name: "the owner's browser with only its cookie", credential: null, session, refusalStatuses: () => [401] },
    { name: "the owner's session secret, sent as a key", credential: session, refusalStatuses: () => [401] },
    { name: 'a revoked key', credential: credentials['revoked key'], refusalStatuses: () => [401] },
    ...(await Promise.all(singleScopeKeys)),
    {
      name: 'an agent that acts for a removed customer',
      credential: places.own.agentKey,
      partyId,
      customerPartyId: removed.partyId,
      refusalStatuses: (operation, sample) => (sample.reach === 'acting' ? [403] : refusalsByPolicy(operation, sample)),
    },
    {
      name: "a token exchanged for the agent's key",
      credential: credentials['exchanged token'],
      partyId,
      refusalStatuses: refusalsByPolicy,
    },
    {
      name: 'another agent of the party, with permissions on another wallet only',
      credential: colleague.agentKey,
      partyId,
      refusalStatuses: (operation, sample) => refusalsByPolicy(operation, sample) ?? refusalsOnOtherWallet(operation),
    },
    ...[
      { name: "another party's key", credential: places.stranger.apiKey },
      { name: "another party's agent", credential: places.stranger.agentKey },
      { name: "another party's user", credential: userToken },
      { name: "an application of another party's user", credential: userGrant },
      { name: "an application that another party's user connected as an agent", credential: agentGrant },
    ].map((attacker) => ({ ...attacker, partyId: places.stranger.partyId, refusalStatuses: refusalsForStranger })),
  ]
}

/** Signs in the sandbox's owner without a password, and returns the secret of the session. */
async function startOwnerSession({ store, system }: World): Promise<string> {
  const begun = await new SignIn({ store, system }).asOwner({ address: undefined, browser: undefined })
  if (begun === undefined) throw new Error('The sandbox has no owner.')
  return begun.session
}
