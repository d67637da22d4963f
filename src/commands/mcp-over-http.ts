import type { Server } from '@modelcontextprotocol/server'
import { operationsByName } from '../../tools/index.ts'
import { createClient } from '../client/client.ts'
import type { Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { keepNewest } from '../core/bounded-map.ts'
import type { OperationDefinition } from '../core/operation.ts'
import { allows, defaultOAuthScopes, permissions, withIncluded } from '../core/permissions.ts'
import { plainHeaders } from '../core/plain-headers.ts'
import type { System } from '../core/system.ts'
import { NamedTurns } from '../core/turns.ts'
import { ownChanges, type PersonAdvice, type ToolChoice } from '../mcp/dependencies.ts'
import { McpEndpoint } from '../mcp/http/endpoint.ts'
import type { HostContext, Principal } from '../mcp/http/host-context.ts'
import { isSecretMessage } from '../mcp/http/secret-messages.ts'
import { createRequestStates } from '../mcp/people/request-states.ts'
import { isReadable } from '../mcp/resources/resources.ts'
import { createMcpServer } from '../mcp/server.ts'
import { appViews } from '../mcp/ui/apps.ts'
import { isAllowedOrigin } from '../service/listen.ts'
import type { Actor } from '../service/request/permission-checks.ts'
import { counted } from '../service/request/request-parsing.ts'
import type { Service } from '../service/service.ts'
import { changesTopic, type Signals } from '../service/store/engine/signals.ts'
import type { Store } from '../service/store/engine/store.ts'
import { createMcpChanges } from '../service/store/mcp-changes.ts'
import { createMcpSessions } from '../service/store/mcp-sessions.ts'
import { loopbackAlias, resourceMetadataUrl } from '../service/tokens/resources.ts'
import { embeddedAddress } from './addresses.ts'
import { databaseMemories } from './database-memory.ts'
import { servedDecisions } from './served-decisions.ts'
import { createTokenExchange } from './token-exchange.ts'
import { program, version } from './version.ts'

export interface McpOverHttp {
  config: Config
  service: Service
  store: Store
  publicUrl: () => string
  system: System
  log: Logger
  /** Signals between the processes that use the database. Without signals, the processes poll the database. */
  signals?: Signals | undefined
  /** Returns whether an operation may be offered as a tool. Without this function, every operation may be offered. */
  offers?: ToolChoice['allows']
}

/** A principal with the authority of its credential. */
interface Caller extends Principal {
  authority: Actor
}

/**
 * Creates the MCP endpoint of `serve`. It accepts the credentials that the service issues, and calls the service's API.
 */
export async function mcpOverHttp(dependencies: McpOverHttp): Promise<McpEndpoint> {
  const { config, service, store, publicUrl, system, log, signals } = dependencies
  const noteScopes = trackScopes((id) => {
    endpoint.notify({ kind: 'tools_list_changed' }, id)
    endpoint.notify({ kind: 'prompts_list_changed' }, id)
  })
  const clientFor = clientsOf(dependencies)
  const endpoint = new McpEndpoint({
    authorize: (credential) => authorize(service, credential, noteScopes),
    limit: ({ id }) => service.limit(id),
    createServer: serverFactory(dependencies, clientFor),
    sessions: createMcpSessions(store, signals),
    changes: {
      activity: {
        ...createMcpChanges(store),
        onChange: (notify) => signals?.subscribe(changesTopic, notify) ?? (() => {}),
      },
      follow: (follower) => service.waits.follow(follower),
      mayRead: readCheck(dependencies, clientFor),
    },
    challenge: (request) => ({
      resourceMetadata: resourceMetadataUrl(`${loopbackAlias(publicUrl(), request)}${new URL(request.url).pathname}`),
      scope: defaultOAuthScopes.join(' '),
    }),
    scopesFor,
    isSecret: isSecretMessage,
    sealKey: await service.derivedSecret('mcpQuestions'),
    allowsOrigin: (origin) => isAllowedOrigin(origin, config.allowedOrigins),
    system,
    log,
  })
  return endpoint
}

type NoteScopes = (id: string, now: string) => void

async function authorize(service: Service, credential: string, noteScopes: NoteScopes): Promise<Caller | undefined> {
  const actor = await service.identify(credential)
  if (actor === undefined) return undefined
  const { keyId: id, partyId, actorType, grant } = actor
  const scopes = grant === null ? undefined : withIncluded(grant.scopes)
  noteScopes(id, (scopes ?? actor.scopes).join(' '))
  return { id, partyId, actor: actorType, scopes, clientId: grant?.clientId, credential, authority: actor }
}

/** Returns a function that calls `onChange` if a credential's scopes changed since the credential was last used. */
function trackScopes(onChange: (id: string) => void): NoteScopes {
  const scopes = new Map<string, string>()
  return (id, now) => {
    const before = scopes.get(id)
    if (before === now) return
    keepNewest(scopes, id, now, maxRemembered)
    if (before !== undefined) onChange(id)
  }
}

/** Returns a function that creates an API client for a host. The client calls the API in this process. */
function clientsOf({ service, system, log }: McpOverHttp) {
  // The rate limit counts a host's request once, on arrival. The API calls that the request causes are not counted.
  const fetch = (request: Request) => service.fetch(request, counted)
  const carry = service.carry(counted)
  const exchange = createTokenExchange({ fetch, baseUrl: embeddedAddress, system })
  return (caller: () => Caller, instanceId: string, program?: string) => {
    // The host's OAuth token is exchanged for an API token, because MCP forbids token passthrough.
    const credential = () => exchange(caller().credential)
    return createClient({ baseUrl: embeddedAddress, fetch, carry, credential, instanceId, program, system, log })
  }
}

type ClientFor = ReturnType<typeof clientsOf>

/**
 * Returns a function that checks whether a principal can read the resource at an address. A host is notified only of
 * changes to resources that its principal can read.
 */
function readCheck({ config: { environment } }: McpOverHttp, clientFor: ClientFor) {
  return (principal: Principal, address: string): Promise<boolean> => {
    const caller = principal as Caller
    const client = clientFor(() => caller, instanceId)
    const { actor, authority } = caller
    const choice = { environment, actor, allows: ({ permission }: Permitted) => allows(authority, permission) }
    return isReadable({ choice, api: { client: async () => client } }, address)
  }
}

type Permitted = Pick<OperationDefinition, 'permission'>

/** The instance id of requests that check read permissions. They change nothing, so this id has no activity. */
const instanceId = 'changes of resources'

/**
 * Returns a function that creates the MCP server of a session or of a single request. The server calls the API as the
 * host's principal.
 */
function serverFactory(dependencies: McpOverHttp, clientFor: ClientFor): (context: HostContext) => Server {
  const { config, service, store, publicUrl, system, log, offers = () => true } = dependencies
  const { environment, toolsets, readOnly, confirm, confirmAbove, repeatWindow, cardDetails } = config
  const stateSecrets = () => service.derivedSecrets('mcpRequestState')
  const ui = appViews(environment)
  const memoryOf = databaseMemories(service, store)
  const turns = new NamedTurns()
  return (context) => {
    const caller = () => context.principal() as Caller
    const { instanceId, isOneRun } = context
    const client = clientFor(caller, instanceId, program)
    const { id, partyId, actor } = caller()
    return createMcpServer({
      version,
      log,
      system,
      ui,
      choice: {
        environment,
        toolsets: context.toolsets ?? toolsets,
        actor,
        readOnly: context.readOnly || readOnly,
        allows: (operation) => offers(operation) && allows(caller().authority, operation.permission),
        cardDetails,
      },
      api: { client: async () => client, personAdvice: personAdviceAt(publicUrl()) },
      people: {
        confirm: { mode: confirm, aboveCents: confirmAbove },
        decisions: servedDecisions({
          store,
          system,
          publicUrl,
          waits: service.waits,
          owner: { partyId, principalId: id },
          turns,
        }),
        publicUrl: publicUrl(),
        states: createRequestStates({ secrets: stateSecrets, principal: id, system }),
      },
      repeats: {
        windowMs: repeatWindow * 1000,
        run: isOneRun ? instanceId : undefined,
        memory: () => memoryOf({ id, partyId }),
      },
      faults: {
        plan: (operation, headers = noHeaders) =>
          service.faults.plan({ path: '/mcp', operation, headers, actor: caller().authority, instanceId }),
        cut: context.cut,
      },
      run: {
        id: () => instanceId,
        note: (runNote) => {
          const { agentId, actorType } = caller().authority
          service.reportEntry({ ...runNote, partyId, agentId, actorType, keyId: id, instanceId })
        },
      },
      // The endpoint announces changes for all servers, because it also sees the changes that other processes make.
      changes: { ...ownChanges, areAnnouncedElsewhere: true },
    })
  }
}

const noHeaders = plainHeaders({})

function personAdviceAt(publicUrl: string): PersonAdvice {
  return {
    signIn: `Have the person reconnect this server (${publicUrl}/mcp) in their host, and sign in.`,
    reach: 'Have the person check the log of this server.',
    offer: (toolsets) => `connect to ${publicUrl}/mcp/x/${toolsets.join()}`,
  }
}

/** The maximum number of credentials whose scopes are remembered. */
const maxRemembered = 10_000

/** Returns the OAuth scopes that a message requires. Only a tool call requires a scope. */
function scopesFor(message: unknown): readonly string[] {
  const { method, params } = message as { method?: unknown; params?: { name?: unknown } }
  if (method !== 'tools/call' || typeof params?.name !== 'string') return []
  const operation = operationsByName.get(params.name)
  if (operation === undefined) return []
  const { oauth } = permissions[operation.permission]
  return oauth === 'any' || oauth === null ? [] : [oauth]
}
