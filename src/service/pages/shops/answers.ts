import type { Context } from 'hono'
import { newId } from '../../../core/system.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { Reply } from '../../request/reply.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import type { Html } from '../frame/document.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { messagePage } from '../frame/form-page.ts'
import { isForeignForm, isForm } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import type { statusOf } from '../frame/refusals.ts'
import { keyOf } from './requests.ts'
import type { ShopPages } from './shop-pages.ts'

export interface ShopsDependencies extends Dependencies, PageDependencies {
  shops: ShopPages
}

export type Show = (c: Context, pages: ShopsDependencies) => Promise<Response>

/** The fields of a submitted form, and the form's idempotency key. */
interface SentForm {
  sent: URLSearchParams
  key: string
}

export type Take = (c: Context, pages: ShopsDependencies, form: SentForm) => Promise<Response>

export const withFailurePage = failurePageWrapper({ page: 'a page of a shop', headers })

/**
 * Checks a form and handles it with `take`. Refuses a form that a browser sent from another site. Accepts forms from
 * other programs.
 */
export async function takeForm(c: Context, pages: ShopsDependencies, take: Take): Promise<Response> {
  if (isForeignForm(c, pages.publicUrl())) return refusalPage(c, 403, 'Another site sent the form.')
  if (!isForm(c)) return refusalPage(c, 400, 'Send the form as application/x-www-form-urlencoded.')
  const sent = new URLSearchParams(await c.req.text())
  const key = keyOf(sent)
  if (key === undefined)
    return refusalPage(c, 400, 'The form lacks a valid “key”. Send all fields of the form, including the hidden ones.')
  return take(c, pages, { sent, key })
}

export function newKey({ system }: ShopsDependencies): string {
  return newId('idk', system, system.now())
}

export type PageStatus = 200 | 410 | 422 | ReturnType<typeof statusOf>

export function showPage(c: Context, page: Html, status: PageStatus = 200): Response | Promise<Response> {
  return c.html(page, status, headers)
}

export function refusalPage(c: Context, status: 400 | 403, text: string): Response | Promise<Response> {
  const link = { href: c.req.path, text: 'Open the page again' }
  return c.html(messagePage('Nothing was done', text, link), status, headers)
}

export function notFound(c: Context, text: string): Response | Promise<Response> {
  return c.html(messagePage('Not found', text, { href: '/shops', text: 'All shops' }), 404, headers)
}

/** Returns the token in the page's address, valid or not. A valid token identifies a checkout and its buyer. */
export function tokenOf(c: Context): string {
  return (c.req.param('token') ?? '').slice(0, maxTokenLength)
}

/** The length to which a token is cut, in characters. Valid tokens are shorter. */
const maxTokenLength = 200

/** Returns the attributes of the resource in an operation's reply. */
export function attributesOf<Attributes>({ body }: Reply): Attributes {
  return (JSON.parse(body) as { data: { attributes: Attributes } }).data.attributes
}
