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
  /** Answers that must contain no secret, by kind. */
  outputs: Record<string, string>
  /** Calls every operation over REST twice, with the same idempotency key. */
  callOverRest(): Promise<void>
  /** Calls every operation as a tool over MCP 2025 and MCP 2026, with progress and a person who always agrees. */
  callOverMcp(): Promise<void>
  close(): Promise<void>
}

const operations = Object.entries(catalogue) as [OperationKey, OperationDefinition][]

/** Settings that offer every tool, always ask for confirmation, and reveal card numbers. */
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
    'MCP answers without secret fields': '',
  }
  const addOutput = (where: string, text: string) => {
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
        if (status >= 400) addOutput('errors over REST', text)
        else canaries.addFrom(operation, json.data)
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
    // Sleeps in real time. A fake sleep would advance the clock and so immediately end a wait for a person.
    const realSleepSystem = { ...system, sleep: realSystem.sleep }
    const config = loadConfig({ env: settings, flags: {} })
    const site = await createSite({ config, service, store, publicUrl, system: realSleepSystem, log })
    listener = await listen({ fetch: site.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
    url = listener.url
    // Outside the deep run, each database is tested with only one of the two hosts.
    for (const { host, sdk, open } of sampleOf([hosts[0], hosts[3]], 2, database.name === 'sqlite' ? 0 : 1)) {
      for (const credential of [world.agentKey, world.apiKey]) {
        const client = open(agreeingPerson)
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
          canaries.addFrom(operation, result.structuredContent?.data)
          if (!containsSecret(operation, result.structuredContent?.data))
            addOutput('MCP answers without secret fields', `${host} ${text}`)
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

const agreeingPerson: Person = {
  // The host offers only forms. To answer a request that has a link, the person would have to open a page.
  modes: { form: {} },
  answer: ({ requestedSchema }) => {
    const names = Object.keys(requestedSchema?.properties ?? {})
    return { action: 'accept', content: Object.fromEntries(names.map((name) => [name, true])) }
  },
}

/** Returns the party whose records an operation uses: the caller, or a customer if the operation needs one. */
const placeOf = ({ reach }: Sample, { places }: Grounds) => (reach === 'connected' ? places.granted : places.own)

const takes = ({ params, query, attributes }: OperationDefinition, name: string) =>
  [params, query, attributes].some((part) => part?.shape[name] !== undefined)
