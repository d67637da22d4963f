import { html } from 'hono/html'
import { type Html, pageDocument } from './document.ts'

interface FormPage {
  title: string
  main: Html
}

/** A page that has no script: the browser sends its forms. */
export function formPage({ title, main }: FormPage): Html {
  return pageDocument({
    title,
    body: html`<main>\n${main}\n</main>`,
  })
}

/** Where a person goes on who has decided on something. */
export const afterDeciding = html`<p><a href="/decisions">See all that waits for you</a></p>
<p><a href="/console/money">See your money in the console</a></p>`

/** A page that says one thing. */
export function messagePage(heading: string, text: string, link?: { href: string; text: string }): Html {
  const more = link === undefined ? '' : html`<p><a href="${link.href}">${link.text}</a></p>`
  return formPage({ title: heading, main: html`<h1>${heading}</h1><p>${text}</p>${more}` })
}

/** The title of a page with a form. Where something is wrong it says so first, for those who listen. */
export function titleOf(heading: string, problem: string | null): string {
  return problem === null ? heading : `Error: ${heading}`
}
