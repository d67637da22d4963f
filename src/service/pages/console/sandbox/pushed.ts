import { sha256 } from '../../../../core/system.ts'
import type { Html } from '../../frame/document.ts'
import type { Drawn, Viewer } from '../live/streams.ts'
import type { SandboxReads } from './read-sandbox.ts'
import { clockPart, faultsPart, snapshotsPart } from './view.ts'
import { partAddress } from './words.ts'

const minuteMs = 60_000

/**
 * Tells once for all who watch the sandbox which of its parts changed: they have buttons of each session, so that each
 * page asks for its own. The clock runs, which alone is told once a minute.
 */
export async function drawSandbox(reads: SandboxReads, viewer: Viewer): Promise<readonly Drawn[]> {
  const version = async (part: Html) => sha256(String(await part))
  // What is told of a record that waits seldom changes: that it is another one is enough.
  const seen = await reads.clock(viewer, { named: false })
  const managed = await reads.managed(viewer)
  const clock = clockPart({ ...seen, nowMs: Math.floor(seen.nowMs / minuteMs) * minuteMs }, '')
  return [
    { source: partAddress('clock'), version: await version(clock) },
    ...(managed === undefined
      ? []
      : [
          { source: partAddress('faults'), version: await version(faultsPart(managed, '')) },
          { source: partAddress('snapshots'), version: await version(snapshotsPart(managed, '')) },
        ]),
  ]
}
