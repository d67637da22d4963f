import { html } from 'hono/html'
import { type Html, pageDocument } from './document.ts'

interface FormPage {
  title: string
  /** What stands on the page besides what says that it is of the sandbox. */
  main: Html
  sandbox?: boolean
}

/** A page that has no script: the browser sends its forms. */
export function formPage({ title, main, sandbox = false }: FormPage): Html {
  return pageDocument({
    title,
    styles: ['/styles/base.css', '/styles/forms.css'],
    sandbox,
    body: html`<main>\n${main}\n</main>`,
  })
}

/** A page that says one thing. */
export function messagePage(heading: string, text: string, link?: { href: string; text: string }): Html {
  const more = link === undefined ? '' : html`<p><a href="${link.href}">${link.text}</a></p>`
  return formPage({ title: heading, main: html`<h1>${heading}</h1><p>${text}</p>${more}` })
}

/** The title of a page whose form was not right: whoever listens hears that first. */
export function titleOf(heading: string, problem: string | null): string {
  return problem === null ? heading : `Error: ${heading}`
}
