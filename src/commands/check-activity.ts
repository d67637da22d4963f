import { firstTampered } from '../service/request/activity.ts'
import { activityHead, activityIdAt, nextChain } from '../service/store/activity.ts'
import { openReadOnly } from '../service/store/engine/read-only.ts'
import type { Transaction } from '../service/store/engine/store.ts'
import { bad, type Finding, note, ok } from './finding.ts'

/** The maximum number of broken chains that are listed; any others are only counted. */
const maxListed = 3

/** The result of checking one party's chain. Each entry of a chain contains the hash of the previous entry. */
interface Chain {
  partyId: string
  /** The number of entries, according to the sealed record of the chain's last entry. */
  entries: number
  /** The party and the entry at which the chain breaks; undefined if the chain is intact. */
  brokenAt: string | undefined
}

/**
 * Checks the activity of all parties for entries that were changed, inserted or deleted. Reads the activity in pages,
 * so memory use does not grow with the database. Reads each chain in one snapshot, so the database may be in use
 * meanwhile.
 */
export async function checkActivity(url: string, secrets: readonly string[] | undefined): Promise<Finding[]> {
  const reading = await openReadOnly(url, secrets)
  try {
    let [chains, entries, after] = [0, 0, '']
    const brokenPlaces: string[] = []
    for (;;) {
      const chain = await reading.read((tx) => checkNextChain(tx, after))
      if (chain === undefined) break
      after = chain.partyId
      chains += 1
      entries += chain.entries
      if (chain.brokenAt !== undefined) brokenPlaces.push(chain.brokenAt)
    }
    return [brokenPlaces.length === 0 ? intactFinding(entries, chains) : brokenFinding(brokenPlaces)]
  } finally {
    await reading.close()
  }
}

async function checkNextChain(tx: Transaction, after: string): Promise<Chain | undefined> {
  const partyId = await nextChain(tx, after)
  if (partyId === undefined) return undefined
  const entries = (await activityHead(tx, partyId))?.sequence ?? 0
  const sequence = await firstTampered(tx, partyId)
  if (sequence === null) return { partyId, entries, brokenAt: undefined }
  const id = await activityIdAt(tx, partyId, sequence)
  const place = `party ${partyId} at entry ${sequence}`
  return {
    partyId,
    entries,
    brokenAt: `${place} (${id ?? 'which is missing, or the seal of the chain is not valid'})`,
  }
}

function intactFinding(entries: number, chains: number): Finding {
  if (chains === 0) return note('Activity', 'nothing is recorded yet')
  return ok(
    'Activity',
    `${entries} ${entries === 1 ? 'entry' : 'entries'} in ${chains} ${chains === 1 ? 'chain' : 'chains'}, all unchanged`,
  )
}

function brokenFinding(brokenPlaces: readonly string[]): Finding {
  const rest = brokenPlaces.length > maxListed ? `; and ${brokenPlaces.length - maxListed} more` : ''
  return bad(
    'Activity',
    `was changed by another program: the chain breaks for ${brokenPlaces.slice(0, maxListed).join('; for ')}${rest}`,
    'Keep a copy of this database as evidence, compare it with a backup made before that entry, and continue with the last backup that doctor finds unchanged.',
  )
}
