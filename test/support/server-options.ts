import { loadConfig } from '../../src/config/load.ts'
import type { Environment } from '../../src/core/operation.ts'
import { realSystem } from '../../src/core/system.ts'
import {
  type Api,
  type Changes,
  everyTool,
  type McpServerOptions,
  noFaults,
  nothingRemembered,
  noViews,
  ownChanges,
  type People,
  type Run,
  type ToolChoice,
  unknownRun,
} from '../../src/mcp/dependencies.ts'
import { createRequestStates } from '../../src/mcp/people/request-states.ts'

type Flat = Omit<McpServerOptions, 'choice' | 'api' | 'people' | 'run' | 'changes'> &
  ToolChoice &
  Omit<People, 'states'> &
  Changes

/** The options of an MCP server that a test may set, as one flat object. */
export type GivenOptions = Pick<Api, 'client'> & { [Name in keyof Flat]?: Flat[Name] | undefined } & {
  instanceId?: () => string
  note?: Run['note']
  stateSecrets?: () => Promise<readonly string[]>
  principal?: string
}

/** Returns the options of an MCP server. Missing ones get their setting's default, or do nothing. */
export function serverOptions({ environment = 'sandbox', ...given }: GivenOptions): McpServerOptions {
  const { cardDetails, confirm, confirmAbove } = loadConfig({
    env: { PAYMENTS_ENVIRONMENT: environment },
    home: '/home/nobody',
  })
  const all = everyTool(environment)
  const { system = realSystem, stateSecrets: secrets, principal } = given
  return {
    version: given.version ?? '1.2.3',
    log: given.log ?? { info: () => {}, warn: () => {}, error: () => {} },
    system,
    choice: {
      environment,
      toolsets: given.toolsets ?? all.toolsets,
      actor: given.actor,
      readOnly: given.readOnly ?? false,
      allows: given.allows ?? all.allows,
      cardDetails: given.cardDetails ?? cardDetails,
    },
    api: { client: given.client, ways: waysOf(environment) },
    people: {
      confirm: given.confirm ?? { mode: confirm, aboveCents: confirmAbove },
      decisions: given.decisions,
      publicUrl: given.publicUrl,
      states: createRequestStates({ system, ...(secrets && { secrets }), ...(principal && { principal }) }),
    },
    repeats: given.repeats ?? nothingRemembered,
    faults: given.faults ?? noFaults,
    run: { id: given.instanceId ?? unknownRun.id, note: given.note ?? unknownRun.note },
    changes: {
      follow: given.follow ?? ownChanges.follow,
      areAnnouncedElsewhere: given.areAnnouncedElsewhere ?? ownChanges.areAnnouncedElsewhere,
    },
    ui: given.ui ?? noViews,
  }
}

const waysOf = (environment: Environment): Api['ways'] => ({
  signIn: `Have the person sign in again, or give this server a key of ${environment} that was not revoked.`,
  reach: 'Have the person check the address of the payments API, and whether it is running.',
  offer: (toolsets) => `PAYMENTS_TOOLSETS=${toolsets.join()}`,
})
