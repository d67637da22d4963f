import type { System } from '../core/system.ts'
import type { Service } from '../service/service.ts'
import type { Store } from '../service/store/engine/store.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'

/** The sandbox of one trial: the API, its pages and the MCP server, with a database in memory. */
export interface Stage {
  store: Store
  service: Pick<Service, 'actAs' | 'fetch' | 'faults' | 'reportEntry'>
  /** The API key of the world's first agent. The rehearsed agent uses this key. */
  agentKey: string
  /** Returns the URL of the API, without a trailing slash. The URL is a placeholder until `listen` is called. */
  url(): string
  fetch(request: Request): Promise<Response>
  /** Listens on a free port of this machine, and passes requests to `answer`. */
  listen(answer: (request: Request) => Promise<Response>): Promise<void>
  close(): Promise<void>
}

export interface StageSetting {
  world: ParsedFile<World>
  confirm: 'never' | 'always'
  system: System
}

/**
 * A function that opens the sandbox of a trial. The implementation is in `src/commands/rehearse-stage.ts`, because it
 * imports every part of the product.
 */
export type OpenStage = (setting: StageSetting) => Promise<Stage>
