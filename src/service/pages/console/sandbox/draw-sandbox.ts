import { versionOf } from '../console-page.ts'
import type { Drawn, Viewer } from '../live/streams.ts'
import type { SandboxReads } from './read-sandbox.ts'
import { clockVersion } from './view.ts'
import { partAddress } from './words.ts'

/**
 * Draws the sandbox's parts for all viewers as versions only: their buttons belong to a session, so each page requests
 * its own changed parts.
 */
export async function drawSandbox(reads: SandboxReads, viewer: Viewer): Promise<readonly Drawn[]> {
  const seen = await reads.clock(viewer, { named: false })
  const managed = await reads.managed(viewer)
  return [
    { source: partAddress('clock'), version: clockVersion(seen) },
    ...(managed === undefined
      ? []
      : [
          { source: partAddress('faults'), version: versionOf(managed.faults) },
          { source: partAddress('snapshots'), version: versionOf(managed.snapshots) },
        ]),
  ]
}
