import type { Logger } from '../../config/log.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import { maskSecrets } from '../../core/errors.ts'
import type { RunDetail, Tell, Told } from '../rules/runs.ts'
import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { cut, masked } from './note-call.ts'
import type { RunLog } from './run-log.ts'

interface TellDependencies {
  store: Store
  runLog: Pick<RunLog, 'note' | 'flush' | 'follow'>
  log: Pick<Logger, 'warn'>
}

/** Names that are remembered, so that what is told twice is kept once. */
const mostNames = 10_000
/** More than a person reads of what a call was to be. */
const longestText = 16_384

/** `toldTo` is the log, whose flush waits for what was told, too. */
export function createTell({ store, runLog, log }: TellDependencies): {
  tell: Tell
  toldTo: TellDependencies['runLog']
} {
  const names = new Map<string, true>()
  let last: Promise<void> = Promise.resolve()
  const tell: Tell = (told) => {
    const { once, partyId } = told
    const name = once === undefined ? undefined : `${partyId} ${once}`
    if (name !== undefined && names.has(name)) return
    if (name !== undefined) keepNewest(names, name, true, mostNames)
    const times = store.read(readTimes)
    // In the order in which it is told.
    last = Promise.allSettled([times, last]).then(([read]) => {
      if (read.status === 'fulfilled') runLog.note(noteOf(told, read.value.nowMs))
      else log.warn({ err: read.reason }, 'what was told of a run was not kept')
    })
  }
  const flush = async () => {
    await last
    await runLog.flush()
  }
  return { tell, toldTo: { note: (note) => runLog.note(note), flush, follow: (listener) => runLog.follow(listener) } }
}

function noteOf(told: Told, atMs: number): Parameters<RunLog['note']>[0] {
  const { partyId, agentId, instanceId, kind, outcome, operation, host = null, error, amountCents, fault, ms } = told
  return {
    ...{ partyId, agentId, instanceId, kind, outcome, operation, host, atMs },
    status: error?.status ?? null,
    code: error?.code ?? null,
    amountCents: amountCents ?? null,
    fault: fault ?? null,
    ms: ms ?? null,
    supportId: null,
    detail: JSON.stringify(detailOf(told)),
  }
}

function detailOf({ host, keyId, actorType, arguments: given, error, facts, remark, resourceIds }: Told): RunDetail {
  return {
    ...(host === undefined ? {} : { host }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(actorType === undefined ? {} : { actorType }),
    ...(given === undefined ? {} : { body: masked(given).slice(0, longestText) }),
    ...(error === undefined ? {} : cut(masked({ errors: [error] }))),
    ...(facts === undefined ? {} : { facts: facts.map(maskSecrets) }),
    ...(remark === undefined ? {} : { remark: maskSecrets(remark) }),
    ...(resourceIds === undefined ? {} : { resourceIds }),
  }
}
