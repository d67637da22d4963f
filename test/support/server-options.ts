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

/** The options that a test may set for an MCP server, as one flat object. */
export type GivenOptions = Pick<Api, 'client'> & { [Name in keyof Flat]?: Flat[Name] | undefined } & {
  instanceId?: () => string
  note?: Run['note']
  stateSecrets?: () => Promise<readonly string[]>
  principal?: string
}

/**
 * Returns complete options for an MCP server. By default, all tools are offered, and most optional features are off.
 */
export function serverOptions({ environment = 'sandbox', ...overrides }: GivenOptions): McpServerOptions {
  const { cardDetails, confirm, confirmAbove } = loadConfig({
    env: { PAYMENTS_ENVIRONMENT: environment },
    home: '/home/nobody',
  })
  const all = everyTool(environment)
  const { system = realSystem, stateSecrets: secrets, principal } = overrides
  return {
    version: overrides.version ?? '1.2.3',
    log: overrides.log ?? { info: () => {}, warn: () => {}, error: () => {} },
    system,
    choice: {
      environment,
      toolsets: overrides.toolsets ?? all.toolsets,
      actor: overrides.actor,
      readOnly: overrides.readOnly ?? false,
      allows: overrides.allows ?? all.allows,
      cardDetails: overrides.cardDetails ?? cardDetails,
    },
    api: { client: overrides.client, personAdvice: personAdviceOf(environment) },
    people: {
      confirm: overrides.confirm ?? { mode: confirm, aboveCents: confirmAbove },
      decisions: overrides.decisions,
      publicUrl: overrides.publicUrl,
      states: createRequestStates({ system, ...(secrets && { secrets }), ...(principal && { principal }) }),
    },
    repeats: overrides.repeats ?? nothingRemembered,
    faults: overrides.faults ?? noFaults,
    run: { id: overrides.instanceId ?? unknownRun.id, note: overrides.note ?? unknownRun.note },
    changes: {
      follow: overrides.follow ?? ownChanges.follow,
      areAnnouncedElsewhere: overrides.areAnnouncedElsewhere ?? ownChanges.areAnnouncedElsewhere,
    },
    ui: overrides.ui ?? noViews,
  }
}

const personAdviceOf = (environment: Environment): Api['personAdvice'] => ({
  signIn: `Have the person sign in again, or give this server a ${environment} key that is not revoked.`,
  reach: 'Have the person check the address of the payments API, and whether it is running.',
  offer: (toolsets) => `PAYMENTS_TOOLSETS=${toolsets.join()}`,
})
