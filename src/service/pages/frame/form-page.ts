import { html } from 'hono/html'
import { type Html, pageDocument } from './document.ts'

interface FormPage {
  title: string
  /** Whether the page is wider than usual, so that it has room for long lines such as commands. */
  isBroad?: boolean
  main: Html
}

/** Renders a page that contains no script. The browser itself sends the forms on the page. */
export function formPage({ title, isBroad = false, main }: FormPage): Html {
  return pageDocument({
    title,
    body: html`<main id="main" tabindex="-1"${isBroad ? html` class="broad"` : ''}>\n${main}\n</main>`,
  })
}

/** The links for a person who has just decided. */
export const afterDeciding = html`<p><a href="/decisions">See pending decisions</a></p>
<p><a href="/console/money">See your money in the console</a></p>`

/** Renders a page with one message. */
export function messagePage(heading: string, text: string, link?: { href: string; text: string }): Html {
  const more = link === undefined ? '' : html`<p><a href="${link.href}">${link.text}</a></p>`
  return formPage({ title: heading, main: html`<h1>${heading}</h1><p>${text}</p>${more}` })
}

/**
 * Returns the title of a page with a form. If there is a problem, the title starts with `Error`, so that screen readers
 * announce it first.
 */
export function titleOf(heading: string, problem: string | null): string {
  return problem === null ? heading : `Error: ${heading}`
}
