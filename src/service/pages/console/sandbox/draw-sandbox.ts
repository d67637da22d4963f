import { versionOf } from '../console-page.ts'
import type { Drawn, Viewer } from '../live/streams.ts'
import type { SandboxReads } from './read-sandbox.ts'
import { clockVersion } from './view.ts'
import { partAddress } from './words.ts'

/**
 * Returns the versions of the parts of the sandbox page. Returns no HTML, because the forms in the parts differ for
 * each session. Each page requests the content of the changed parts itself.
 */
export async function drawSandbox(reads: SandboxReads, viewer: Viewer): Promise<readonly Drawn[]> {
  const seen = await reads.clock(viewer, { includeRecords: false })
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
