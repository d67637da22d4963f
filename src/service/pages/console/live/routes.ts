import type { Context, Hono } from 'hono'
import type { SignedIn } from '../../../oauth/sign-in.ts'
import type { Show } from '../../frame/answers.ts'
import { signedInAt } from '../../frame/browser-session.ts'
import { dataHeaders } from '../../frame/headers.ts'
import { pageRoutes } from '../../frame/page-routes.ts'
import { type ConsoleDependencies, withFailurePage } from '../serve-page.ts'
import { ownTopics } from './own-topics.ts'
import { type Announcements, type Draw, Streams } from './streams.ts'

const headers = { ...dataHeaders, 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' } as const

/** Mounts the stream that notifies console pages of changes and sends the new content to the pages. */
export function mountLive(app: Hono, pages: ConsoleDependencies, render: Draw): Announcements {
  const streams = new Streams(pages, render)
  // After a 401, the browser's EventSource does not reconnect, and the page asks the person to sign in.
  const signedOut = (c: Context) => c.json({ error: 'Sign in again.' }, 401, dataHeaders)
  const open: Show<ConsoleDependencies> = (c, _, signedIn) => openStream(c, pages, { streams, signedIn })
  pageRoutes(app, pages, withFailurePage)('GET /console/stream', open, { signedOut })
  return streams
}

async function openStream(
  c: Context,
  pages: ConsoleDependencies,
  { streams, signedIn }: { streams: Streams; signedIn: SignedIn },
): Promise<Response> {
  const topics = await ownTopics(pages, signedIn.user.partyId, c.req.queries('topic') ?? [])
  if (topics === undefined) return c.json({ error: 'Too few, too many or unknown topics.' }, 404, dataHeaders)
  const watcher = { viewer: signedIn, topics, isActive: () => isSignedIn(c, pages, signedIn), gone: c.req.raw.signal }
  const body = await streams.open(watcher)
  if (body === undefined) return c.json({ error: 'Too many console pages are open.' }, 503, dataHeaders)
  return c.body(body, 200, headers)
}

async function isSignedIn(c: Context, pages: ConsoleDependencies, { user }: SignedIn): Promise<boolean> {
  return (await signedInAt(c, pages))?.user.id === user.id
}
