import { createSite } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { containsSecret } from '../../src/core/secret-fields.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { send } from '../isolation/prober.ts'
import { permittedStatus, type Sample, samples } from '../isolation/samples.ts'
import { hosts, type Person } from '../mcp/hosts.ts'
import { transportTo } from '../mcp-http/hosting.ts'
import type { TestDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { type Canaries, createCanaries } from './canaries.ts'

export interface Flows {
  on: Grounds
  canaries: Canaries
  /** The answers by place, which must contain no secret. */
  outputs: Record<string, string>
  /** Sends every operation over REST, and each command a second time with the same key. */
  callOverRest(): Promise<void>
  /** Calls every operation as a tool from hosts of both eras, with progress and a person who agrees to everything. */
  callOverMcp(): Promise<void>
  close(): Promise<void>
}

const operations = Object.entries(catalogue) as [OperationKey, OperationDefinition][]

/** Settings that offer every tool, ask every question, and reveal card numbers. */
const settings = {
  PAYMENTS_TOOLSETS: 'all',
  PAYMENTS_CONFIRM: 'always',
  PAYMENTS_CONFIRM_ABOVE: '0',
  PAYMENTS_CARD_DETAILS: 'reveal',
}

export async function createFlows(database: TestDatabase): Promise<Flows> {
  const on = await grounds(database)
  const { world } = on
  const canaries = createCanaries()
  const outputs: Record<string, string> = {
    'errors over REST': '',
    'answers over MCP without secrets of their own': '',
  }
  const say = (where: string, text: string) => {
    outputs[where] += `${text}\n`
  }
  canaries.add('the seeded API key', world.apiKey)
  canaries.add('the seeded agent key', world.agentKey)

  const callOverRest: Flows['callOverRest'] = async () => {
    for (const [key, operation] of operations) {
      const sample = samples[key]
      const ids = await sample.make(on, placeOf(sample, on))
      const credential = sample.who === 'agents' ? world.agentKey : world.apiKey
      const idempotencyKey = `canary-${key}-${'x'.repeat(20)}`
      for (const time of ['first', 'again']) {
        const { status, text, json } = await send(on, operation, sample, { key: credential, ids, idempotencyKey })
        if (time === 'first' && status !== permittedStatus(operation, sample)) throw new Error(`${key}: ${text}`)
        if (status >= 400) say('errors over REST', text)
        else canaries.takeFrom(operation, json.data)
      }
    }
  }

  let listener: Listener | undefined
  const callOverMcp: Flows['callOverMcp'] = async () => {
    const { service, store, system } = world
    const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
    const log = { debug: line, info: line, warn: line, error: line }
    let url = ''
    const publicUrl = () => url
    // Real sleeps, because a fake sleep advances the clock, and a call that waits for a person would end at once.
    const waiting = { ...system, sleep: realSystem.sleep }
    const config = loadConfig({ env: settings, flags: {} })
    const site = await createSite({ config, service, store, publicUrl, system: waiting, log })
    listener = await listen({ fetch: site.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
    url = listener.url
    // Outside the deep run, each database gets the hosts of one era.
    for (const { host, sdk, open } of sampleOf([hosts[0], hosts[3]], 2, database.name === 'sqlite' ? 0 : 1)) {
      for (const credential of [world.agentKey, world.apiKey]) {
        const client = open(agreeing)
        await client.connect(transportTo(sdk, `${url}/mcp`, credential))
        for (const [key, operation] of operations) {
          const sample = samples[key]
          if ((sample.who === 'agents') !== (credential === world.agentKey)) continue
          const ids = await sample.make(on, placeOf(sample, on))
          const input = { ...ids, ...sample.attributes?.(ids, on) }
          const knownInput = Object.fromEntries(Object.entries(input).filter(([name]) => takes(operation, name)))
          const progress: string[] = []
          const result = await client.callTool(operation.name, knownInput, {
            onprogress: (report) => void progress.push(JSON.stringify(report)),
          })
          const text = JSON.stringify([result, progress])
          canaries.takeFrom(operation, result.structuredContent?.data)
          if (!containsSecret(operation, result.structuredContent?.data))
            say('answers over MCP without secrets of their own', `${host} ${text}`)
        }
        await client.close()
      }
    }
    await site.close()
  }

  return {
    on,
    canaries,
    outputs,
    callOverRest,
    callOverMcp,
    close: async () => {
      await listener?.close()
      await world.drop()
    },
  }
}

const agreeing: Person = {
  // The person can answer a form here; a link would need a page.
  modes: { form: {} },
  answer: ({ requestedSchema }) => {
    const names = Object.keys(requestedSchema?.properties ?? {})
    return { action: 'accept', content: Object.fromEntries(names.map((name) => [name, true])) }
  },
}

/** Returns the place whose records an operation uses. For a connection, this is the place of the customer. */
const placeOf = ({ reach }: Sample, { places }: Grounds) => (reach === 'connected' ? places.granted : places.own)

const takes = ({ params, query, attributes }: OperationDefinition, name: string) =>
  [params, query, attributes].some((part) => part?.shape[name] !== undefined)
