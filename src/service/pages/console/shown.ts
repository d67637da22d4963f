import type { Context, Hono } from 'hono'
import type { Dependencies } from '../../request/pipeline.ts'
import { notYoursPage } from '../frame/account.ts'
import { forSignedIn, type Show } from '../frame/answers.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failingAs } from '../frame/failure.ts'
import { consoleHeaders } from '../frame/headers.ts'

/** What each part of the console is given. */
export interface ConsoleDependencies extends Dependencies, PageDependencies {}

export const orFailure = failingAs({ page: 'a page of the console', headers: consoleHeaders })

/** Serves a page of the console to whoever is signed in; anybody else signs in first and is led back to it. */
export function showAt(app: Hono, path: string, pages: ConsoleDependencies, show: Show<ConsoleDependencies>): void {
  // No text in PostgreSQL holds a NUL, and so no name of anything.
  const orNothing: Show<ConsoleDependencies> = (c, _, signedIn) =>
    pathOf(c).includes('%00')
      ? c.html(notYoursPage('There is nothing of yours by this name.', signedIn, '/console'), 404, consoleHeaders)
      : show(c, pages, signedIn)
  app.get(path, (c) => orFailure(c, pages, () => forSignedIn(c, pages, orNothing, pathOf(c))))
}

function pathOf(c: Context): string {
  const { pathname, search } = new URL(c.req.url)
  return `${pathname}${search}`
}
