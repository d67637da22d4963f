import type { Hono } from 'hono'
import { mountLive } from './live/routes.ts'
import { mountMoney } from './money/routes.ts'
import { mountReports } from './report/routes.ts'
import { createDraw } from './runs/pushed.ts'
import { mountRuns } from './runs/routes.ts'
import { mountSandbox } from './sandbox/routes.ts'
import type { ConsoleDependencies } from './shown.ts'

/** Where a person watches what their agents do (docs/console.md). */
export function mountConsole(app: Hono, pages: ConsoleDependencies): void {
  mountRuns(app, pages, mountLive(app, pages, createDraw(pages)))
  mountMoney(app, pages)
  if (pages.environment === 'sandbox') mountSandbox(app, pages)
  mountReports(app, pages)
}
