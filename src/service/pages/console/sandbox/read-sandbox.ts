import { nextDueMs, nextEvents, settleDue } from '../../../request/due.ts'
import { readAsUser } from '../../../request/in-process.ts'
import { readTimes } from '../../../store/clock.ts'
import { latestShopOrders, type ShopOrderRecord } from '../../../store/shop-orders.ts'
import { findWorld } from '../../../store/world.ts'
import type { Viewer } from '../live/streams.ts'
import type { ConsoleDependencies } from '../shown.ts'
import { parsedWithoutCards } from '../without-cards.ts'
import { type Upcoming, withRecords } from './upcoming.ts'

/** A resource as an answer of the API tells it. */
export interface Told<Attributes> {
  id: string
  attributes: Attributes
}

export interface FaultTold {
  operation: string | null
  path: string | null
  merchant: string | null
  when: Record<'nth' | 'every' | 'times' | 'probability' | 'instanceId', number | string | null>
  fault: string
  code: string | null
  afterMs: number | null
  origin: 'operation' | 'file' | 'built_in'
  matched: number | null
  hits: number | null
}

export interface SnapshotTold {
  name: string
  now: string
  savedAt: string
  size: number
}

export interface ClockSeen {
  nowMs: number
  /** How far it was moved from real time, milliseconds. */
  movedMs: number
  /** When something happens next by itself, to whomever. */
  nextMs: number | null
  /** What happens to the user's own party then and afterwards. */
  next: readonly Upcoming[]
}

export interface SandboxSeen extends ClockSeen {
  /** False: they are to prove first that they are no agent. */
  mayManage: boolean
  /** Undefined: the user does not manage the sandbox. */
  managed: Managed | undefined
  world: { digest: string | null; isRehearsal: boolean } | undefined
  shops: readonly Told<{ name: string; about: string }>[]
  orders: readonly ShopOrderRecord[]
}

export interface Managed {
  faults: readonly Told<FaultTold>[]
  snapshots: readonly Told<SnapshotTold>[]
}

const ordersShown = 20
const eventsShown = 6

/** What the page of the sandbox shows. */
export function createSandboxReads(pages: ConsoleDependencies) {
  const { store } = pages
  const list = async <Attributes>(
    { user }: Viewer,
    key: 'listSandboxFaults' | 'listSandboxSnapshots' | 'listShops',
  ): Promise<readonly Told<Attributes>[] | undefined> => {
    const { status, body } = await readAsUser(pages, user, key, { params: {} })
    return status === 200 ? (parsedWithoutCards(body) as { data: Told<Attributes>[] }).data : undefined
  }
  const clock = async (viewer: Viewer, { named = true } = {}): Promise<ClockSeen> => {
    // What is due by now happens first, so that what comes next is still to come.
    await settleDue(pages, { partyId: viewer.user.partyId })
    const [times, nextMs, next] = await Promise.all([
      store.read(readTimes),
      nextDueMs(store),
      nextEvents(store, viewer.user.partyId, eventsShown),
    ])
    return {
      nowMs: times.nowMs,
      movedMs: times.nowMs - times.realNowMs,
      nextMs,
      next: named ? await withRecords(pages, viewer, next) : next.map((event) => ({ ...event, record: null })),
    }
  }
  /** By one click any program on this machine is signed in, the agent that is rehearsed too. */
  const mayManage = async ({ isProven }: Viewer) => isProven || (await store.read(findWorld))?.isRehearsal !== 1
  const managed = async (viewer: Viewer): Promise<Managed | undefined> => {
    if (!(await mayManage(viewer))) return undefined
    const faults = await list<FaultTold>(viewer, 'listSandboxFaults')
    const snapshots = await list<SnapshotTold>(viewer, 'listSandboxSnapshots')
    return faults && snapshots && { faults, snapshots }
  }
  return {
    clock,
    managed,
    mayManage,
    all: async (viewer: Viewer): Promise<SandboxSeen> => {
      const world = await store.read(findWorld)
      return {
        ...(await clock(viewer)),
        mayManage: await mayManage(viewer),
        managed: await managed(viewer),
        world: world && { digest: world.digest, isRehearsal: world.isRehearsal === 1 },
        shops: (await list<{ name: string; about: string }>(viewer, 'listShops')) ?? [],
        orders: await store.read((tx) => latestShopOrders(tx, viewer.user.partyId, ordersShown)),
      }
    },
  }
}

export type SandboxReads = ReturnType<typeof createSandboxReads>
