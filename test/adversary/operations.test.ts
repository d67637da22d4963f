import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { type ProbeRequest, send } from '../isolation/prober.ts'
import { samples } from '../isolation/samples.ts'
import { databasesForLong, postgres, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { type Attacker, attackersOf } from './attackers.ts'
import { noTraces, tracesOf } from './traces.ts'

const all = Object.entries(catalogue) as [OperationKey, OperationDefinition][]
/**
 * `listActivity` is tested first. After other tests, the attackers' own activity contains the ids from their refused
 * requests.
 */
const operations = all.toSorted(([a], [b]) => Number(b === 'listActivity') - Number(a === 'listActivity'))

/**
 * All attackers are tested on SQLite. PostgreSQL is slower, so only the most distinctive attackers are tested there.
 */
const tables = [
  { database: sqlite, attackerNames: /./ },
  { database: postgres, attackerNames: /without a credential|removed customer|another/ },
] as const

/**
 * Returns the party whose activity may record the refusal: the attacker's own party if a 404 is expected; otherwise
 * undefined.
 */
const recordingParty = ({ partyId }: Attacker, expected: readonly number[]) =>
  expected.includes(404) ? partyId : undefined

/** Returns whether the operation reads records that every agent of the party may read. */
const isReadableByAllAgents = ({ permission }: OperationDefinition) =>
  permission === 'wallets.read' || permission === 'external_accounts.read' || permission === 'customers.read'

describe.each(tables.filter(({ database }) => databasesForLong.includes(database)))(
  'REST requests of attackers on $database.name',
  ({ database, attackerNames }) => {
    let on: Grounds
    let attackers: Attacker[]
    let attempts = 0

    beforeAll(async () => {
      on = await grounds(database)
      attackers = (await attackersOf(on)).filter(({ name }) => attackerNames.test(name))
    }, 60_000)
    afterAll(async () => {
      console.info(`adversary on ${database.name}: ${attempts} attempts by ${attackers.length} attackers`)
      await on.world.drop()
    })

    test.each(sampleOf(operations, 12))('%s refuses attackers and changes nothing', async (key, operation) => {
      const sample = samples[key]
      const ids = await sample.make(on, on.places.own)
      const requestOf = ({ credential, customerPartyId, session }: Attacker): ProbeRequest => ({
        key: credential,
        ...(session === undefined ? {} : { headers: { Cookie: `payments_session=${session}` } }),
        ids,
        acting: sample.reach === 'acting' ? customerPartyId : undefined,
      })
      const attack = async (attacker: Attacker) => {
        attempts += 1
        return send(on, operation, sample, requestOf(attacker))
      }
      const refused = attackers.filter((attacker) => attacker.refusalStatuses(operation, sample) !== undefined)
      const wrong: string[] = []
      for (const [ownPartyId, group] of Map.groupBy(refused, (attacker) =>
        recordingParty(attacker, attacker.refusalStatuses(operation, sample) ?? []),
      )) {
        const traces = await tracesOf(on.world, ownPartyId, async () => {
          for (const attacker of group) {
            const answer = await attack(attacker)
            const expected = attacker.refusalStatuses(operation, sample) ?? []
            if (!expected.includes(answer.status)) wrong.push(`${attacker.name}: ${answer.status} ${answer.text}`)
          }
        })
        expect(traces, group.map(({ name }) => name).join(', ')).toEqual(noTraces)
      }
      expect(wrong).toEqual([])
      // Some lists are the same for all agents or keys of a party, so an attacker's list may contain the ids.
      const isShared = operation.permission === 'sandbox.manage' || isReadableByAllAgents(operation)
      if (operation.result !== 'page' || operation.params !== undefined || isShared) return
      for (const attacker of attackers.filter((one) => !refused.includes(one) && one.name.startsWith('another'))) {
        const { text } = await attack(attacker)
        for (const id of Object.values(ids)) expect(text, attacker.name).not.toContain(id)
      }
    })
  },
)
