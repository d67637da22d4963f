import type { Hono } from 'hono'
import { redirectTo, type Show } from '../frame/answers.ts'
import { mountLive } from './live/routes.ts'
import { drawMoney } from './money/parts.ts'
import { createMoneyReads } from './money/read-money.ts'
import { mountMoney } from './money/routes.ts'
import { mountRecords } from './records/routes.ts'
import { mountReports } from './report/routes.ts'
import { createRunDraw } from './runs/draw-runs.ts'
import { mountRuns } from './runs/routes.ts'
import { drawSandbox } from './sandbox/draw-sandbox.ts'
import { createSandboxReads } from './sandbox/read-sandbox.ts'
import { mountSandbox } from './sandbox/routes.ts'
import { type ConsoleDependencies, servePage, showNotFound } from './serve-page.ts'

/**
 * Handles all addresses below `/console` that have no page. Redirects an incomplete address, such as
 * `/console/runs`, to the console, and responds to any other address with a "Not found" page.
 */
const elsewhere: Show<ConsoleDependencies> = (c, _, signedIn) =>
  /^\/console(?:\/runs)?\/?$/.test(c.req.path)
    ? redirectTo(c, '/console')
    : showNotFound(c, signedIn, 'The console has no such page.')

/** Mounts the console, where people watch what their agents do (docs/console.md). */
export function mountConsole(app: Hono, pages: ConsoleDependencies): void {
  const [money, sandbox] = [createMoneyReads(pages), createSandboxReads(pages)]
  const drawRun = createRunDraw(pages)
  const announcements = mountLive(app, pages, (viewer, topic) => {
    if (topic === 'money') return drawMoney(money, viewer)
    return topic === 'sandbox' ? drawSandbox(sandbox, viewer) : drawRun(viewer, topic)
  })
  mountRuns(app, pages, announcements)
  mountRecords(app, pages)
  mountMoney(app, pages, money)
  if (pages.environment === 'sandbox') mountSandbox(app, pages, sandbox)
  mountReports(app, pages)
  servePage(app, '/console/*', pages, elsewhere)
}
