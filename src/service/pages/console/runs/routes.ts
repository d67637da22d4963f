import type { Hono } from 'hono'
import { html } from 'hono/html'
import { accountOf } from '../../frame/account.ts'
import type { Show } from '../../frame/answers.ts'
import { consoleHeaders } from '../../frame/headers.ts'
import { consolePage } from '../console-page.ts'
import { type ConsoleDependencies, showAt } from '../shown.ts'

export function mountRuns(app: Hono, pages: ConsoleDependencies): void {
  showAt(app, '/console', pages, showRuns)
}

const showRuns: Show<ConsoleDependencies> = async (c, { environment }, signedIn) => {
  const main = html`<h1>Runs</h1>`
  const page = consolePage({ title: 'Runs', tab: 'runs', account: accountOf(signedIn), environment, main })
  return c.html(page, 200, consoleHeaders)
}
