import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { type ErrorCode, errorTable } from '../../../../core/errors.ts'
import type { SignedIn } from '../../../oauth/sign-in.ts'
import { asUser } from '../../../request/in-process.ts'
import { ownForm, redirectTo, type Show, type Take } from '../../frame/answers.ts'
import { consoleHeaders } from '../../frame/headers.ts'
import { pageRoutes } from '../../frame/page-routes.ts'
import { consolePage, partAnswer, versionOf } from '../console-page.ts'
import { type ConsoleDependencies, servePage, withFailurePage } from '../serve-page.ts'
import { forms } from './actions.ts'
import type { SandboxReads } from './read-sandbox.ts'
import { clockPart, clockVersion, faultsPart, sandboxMain, snapshotsPart } from './view.ts'
import { address, unproven } from './words.ts'

const purpose = 'console sandbox'
const maxFormBytes = 16 * 1024

interface SandboxPages extends ConsoleDependencies {
  reads: SandboxReads
}

/** Mounts the sandbox page. The forms of the page run API operations as the signed-in user. */
export function mountSandbox(app: Hono, dependencies: ConsoleDependencies, reads: SandboxReads): void {
  const pages: SandboxPages = { ...dependencies, reads }
  const takeForm = ownForm(() => purpose, takeAction, address)
  servePage(app, address, dependencies, (c, _, signedIn) => showSandbox(c, pages, signedIn))
  pageRoutes(app, pages, withFailurePage)('POST /console/sandbox/:action', takeForm, {
    maxBytes: maxFormBytes,
    back: () => address,
  })
}

const showSandbox: Show<SandboxPages> = async (c, pages, signedIn) => {
  const { reads } = pages
  const token = signedIn.formToken(purpose)
  const part = c.req.query('part')
  if (part === 'clock') {
    const seen = await reads.clock(signedIn)
    return partAnswer(c, clockPart(seen, token), clockVersion(seen))
  }
  if (part === 'faults' || part === 'snapshots') {
    const managed = await reads.managed(signedIn)
    if (managed === undefined) return partAnswer(c, html``)
    const render = part === 'faults' ? faultsPart : snapshotsPart
    return partAnswer(c, render(managed, token), versionOf(managed[part]))
  }
  const action = c.req.query('done') ?? ''
  return show(c, pages, signedIn, { done: Object.hasOwn(doneWords, action) ? (doneWords[action] ?? null) : null })
}

const takeAction: Take<SandboxPages> = async (c, pages, signedIn, sent) => {
  const action = c.req.param('action') ?? ''
  const form = Object.hasOwn(forms, action) ? forms[action] : undefined
  if (form === undefined) return show(c, pages, signedIn, { problem: 'There is no such sandbox action.', status: 404 })
  if (!(await pages.reads.mayManage(signedIn))) {
    return show(c, pages, signedIn, { problem: `Nothing was changed. ${unproven}`, status: 403 })
  }
  const doneAddress = `${address}?done=${action}`
  const formRequest = form(sent, await pages.reads.clock(signedIn))
  if (formRequest === null) return redirectTo(c, doneAddress)
  const { key, params = {}, query = {}, attributes } = formRequest
  const reply = await asUser(pages, signedIn.user, key, {
    params,
    query,
    ...(attributes === undefined ? {} : { attributes }),
  })
  if (reply.status < 300) return redirectTo(c, doneAddress)
  return show(c, pages, signedIn, refusedWith(reply.body, reply.status))
}

/**
 * The messages that the page shows after a form succeeds, by the form's name. The page's address contains only this
 * name, so a crafted link cannot make the page show any other text.
 */
const doneWords: Readonly<Record<string, string>> = {
  hour: 'The clock moved forward by 1 hour.',
  day: 'The clock moved forward by 1 day.',
  next: 'The clock moved to the next event.',
  to: 'The clock moved to the time you set.',
  fault: 'Fault added.',
  clear: 'Faults cleared.',
  reset: 'Sandbox reset.',
  save: 'Snapshot saved.',
  restore: 'Snapshot restored.',
  delete: 'Snapshot deleted.',
}

type Status = 200 | 400 | 403 | 404 | 409 | 422 | 429 | 500 | 503

interface Outcome {
  done?: string | null
  problem?: string
  status?: Status
}

function refusedWith(body: string, status: number): Outcome {
  const { errors } = JSON.parse(body) as { errors: { code: string; detail: string }[] }
  const [{ code, detail } = { code: '', detail: '' }] = errors
  // The advice in `errorTable` about an invalid value is written for programs, so the page shows only the detail.
  const isDetailEnough = code === 'invalid_value' || !Object.hasOwn(errorTable, code)
  const next = isDetailEnough ? '' : errorTable[code as ErrorCode].next
  return { problem: `Nothing was changed. ${detail} ${next}`.trim(), status: status as Status }
}

async function show(
  c: Context,
  { reads }: SandboxPages,
  signedIn: SignedIn,
  { done = null, problem, status = 200 }: Outcome,
) {
  const token = signedIn.formToken(purpose)
  const seen = await reads.all(signedIn)
  const main = sandboxMain({ seen, partyId: signedIn.user.partyId, token, done, problem: problem ?? null })
  return c.html(consolePage({ title: 'Sandbox', main }), status, consoleHeaders)
}
