import { nextDueMs, nextEvents, settleDue } from '../../../request/due-effects.ts'
import { readAsUser } from '../../../request/in-process.ts'
import { readTimes } from '../../../store/clock.ts'
import { latestShopOrders, type ShopOrderRecord } from '../../../store/shop-orders.ts'
import { findWorld } from '../../../store/world.ts'
import type { Viewer } from '../live/streams.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { parsedWithoutCards } from '../without-cards.ts'
import { type Upcoming, withRecords } from './upcoming.ts'

/** A resource in an API response. */
export interface Resource<Attributes> {
  id: string
  attributes: Attributes
}

export interface FaultAttributes {
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

export interface SnapshotAttributes {
  name: string
  now: string
  savedAt: string
  size: number
}

export interface ClockSeen {
  nowMs: number
  /** How far the clock is ahead of real time, in milliseconds. */
  movedMs: number
  /** The time when the next timed effect of any party is due; null if there is none. */
  nextMs: number | null
  /** The upcoming events of the user's own party. */
  next: readonly Upcoming[]
}

export interface SandboxSeen extends ClockSeen {
  /** Whether this session may manage the sandbox. If it may not, the user must first sign in with a password. */
  mayManage: boolean
  /** The faults and snapshots; undefined if the user may not manage the sandbox. */
  managed: Managed | undefined
  world: { digest: string | null; isRehearsal: boolean } | undefined
  shops: readonly Resource<{ name: string; about: string }>[]
  orders: readonly ShopOrderRecord[]
}

export interface Managed {
  faults: readonly Resource<FaultAttributes>[]
  snapshots: readonly Resource<SnapshotAttributes>[]
}

const ordersShown = 20
const eventsShown = 6

/** Creates the functions that read the data of the sandbox page. */
export function createSandboxReads(pages: ConsoleDependencies) {
  const { store } = pages
  const list = async <Attributes>(
    { user }: Viewer,
    key: 'listSandboxFaults' | 'listSandboxSnapshots' | 'listShops',
  ): Promise<readonly Resource<Attributes>[] | undefined> => {
    const { status, body } = await readAsUser(pages, user, key, { params: {} })
    return status === 200 ? (parsedWithoutCards(body) as { data: Resource<Attributes>[] }).data : undefined
  }
  const clock = async (viewer: Viewer, { includeRecords = true } = {}): Promise<ClockSeen> => {
    // Due effects are applied first, so that all listed events are in the future.
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
      next: includeRecords ? await withRecords(pages, viewer, next) : next.map((event) => ({ ...event, record: null })),
    }
  }
  /**
   * Returns whether the viewer's session may manage the sandbox. In a rehearsal, a one-click sign-in is not enough,
   * because the rehearsed agent could have signed in that way.
   */
  const mayManage = async ({ isProven }: Viewer) => isProven || (await store.read(findWorld))?.isRehearsal !== 1
  const managedState = async (viewer: Viewer): Promise<Managed | undefined> => {
    if (!(await mayManage(viewer))) return undefined
    const faults = await list<FaultAttributes>(viewer, 'listSandboxFaults')
    const snapshots = await list<SnapshotAttributes>(viewer, 'listSandboxSnapshots')
    return faults && snapshots && { faults, snapshots }
  }
  return {
    clock,
    managed: managedState,
    mayManage,
    all: async (viewer: Viewer): Promise<SandboxSeen> => {
      const world = await store.read(findWorld)
      return {
        ...(await clock(viewer)),
        mayManage: await mayManage(viewer),
        managed: await managedState(viewer),
        world: world && { digest: world.digest, isRehearsal: world.isRehearsal === 1 },
        shops: (await list<{ name: string; about: string }>(viewer, 'listShops')) ?? [],
        orders: await store.read((tx) => latestShopOrders(tx, viewer.user.partyId, ordersShown)),
      }
    },
  }
}

export type SandboxReads = ReturnType<typeof createSandboxReads>
