import { html } from 'hono/html'
import { foreignName, foreignText, shortened } from '../../core/foreign-text.ts'
import type { Html } from '../../display/html.ts'
import { withoutSecrets } from '../report-text.ts'
import { countWithNoun } from './words.ts'

/** Renders untrusted text (from an agent, a shop or a service) on one line, shortened to fit a heading or a cell. */
export function line(text: string, maxLength?: number): Html {
  return html`<bdi>${lineText(text, maxLength)}</bdi>`
}

/** Returns untrusted text as one line without HTML, for attributes and page titles. */
export function lineText(text: string, maxLength?: number): string {
  return foreignName(withoutSecrets(text), 'without a name', maxLength)
}

/** Renders untrusted text with its line breaks. Long text is collapsed, and only its beginning is visible. */
export function block(text: string, name: string, { label = false } = {}): Html {
  const whole = blockText(text)
  if (whole === '') return html``
  const { visible, length, lines } = cutText(whole)
  if (visible.length <= maxUnfolded && visible.split('\n').length <= maxLinesUnfolded) {
    return html`<div class="block" dir="auto">${label ? html`<span class="label" dir="ltr">${name}</span>` : ''}${visible}</div>`
  }
  const summary = html`<span class="aside">${name}, ${countWithNoun(length, 'character')}:</span> ${line(visible, maxSummaryLength)}`
  return html`<details class="fold"><summary>${summary}</summary>${lines}</details>`
}

/** Renders text that is seldom needed. The text is collapsed, and only `name` is visible. */
export function foldedText(text: string, name: string): Html {
  return html`<details class="fold"><summary>${name}</summary>${cutText(blockText(text)).lines}</details>`
}

/** Cuts text to the maximum length that the report shows. */
function cutText(whole: string): { visible: string; length: number; lines: Html } {
  const { length } = [...whole]
  // The last visible character is the ellipsis, so one more character of the text is hidden.
  const hidden = length <= maxShown ? 0 : length - maxShown + 1
  const rest =
    hidden === 0 ? '' : html`<p class="aside">${countWithNoun(hidden, 'more character')}: see results.json.</p>`
  const visible = shortened(whole, maxShown)
  return { visible, length, lines: html`<div class="block" dir="auto">${visible}</div>${rest}` }
}

/** Formats the input of a step as JSON. A string stays as it is, and empty input becomes an empty string. */
export function sentText(sent: unknown): string {
  if (typeof sent === 'string') return sent
  const isEmpty = sent === undefined || sent === null || JSON.stringify(sent) === '{}'
  if (isEmpty) return ''
  const spaced = JSON.stringify(sent, null, 2)
  const short = spaced.replace(/\n */g, ' ')
  return short.length <= maxOnOneLine ? short : spaced
}

function blockText(text: string): string {
  const lines = withoutSecrets(text).split(/\r\n|[\n\r\u2028\u2029]/)
  return lines
    .map((whole) => {
      const indent = /^ {0,40}/.exec(whole)?.[0] ?? ''
      const seen = foreignText(whole)
      return seen === '' ? '' : `${indent}${seen}`
    })
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd()
    .replace(/^\n+/, '')
}

/** The maximum number of characters shown. `results.json` has the whole text. */
const maxShown = 3000
const maxUnfolded = 240
const maxOnOneLine = 160
const maxLinesUnfolded = 6
const maxSummaryLength = 100
