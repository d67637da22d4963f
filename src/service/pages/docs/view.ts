import { html } from 'hono/html'
import { type Column, table } from '../../../display/table.ts'
import { curlOf } from '../frame/curl.ts'
import { type Html, pageDocument } from '../frame/document.ts'
import type { Field, OperationShown } from './reference.ts'

interface ReferenceShown {
  operations: readonly OperationShown[]
  tags: readonly { name: string; description: string | undefined }[]
  serverUrl: string
  about: string
}

/** Renders the list of all operations. */
export function referencePage({ operations, tags, serverUrl, about }: ReferenceShown): Html {
  return docsPage(
    'API reference',
    html`<h1>API reference</h1>
<p>${about}</p>
<dl>
<div><dt>Address</dt><dd><code>${serverUrl}</code></dd></div>
<div><dt>Credential</dt><dd><code>Authorization: Bearer KEY</code>, with an API key, an agent key or an access token</dd></div>
<div><dt>Document</dt><dd><a href="/openapi.json">openapi.json</a> (OpenAPI 3.1)</dd></div>
</dl>
${tags.map(
  ({ name, description }) => html`<section aria-labelledby="tag-${name}">
<h2 id="tag-${name}">${name}</h2>
<p class="aside">${description ?? ''}</p>
<ul>
${operations
  .filter(({ tag }) => tag === name)
  .map(
    ({ id, title, method, path }) =>
      html`<li><a href="/docs/${id}">${title}</a>: <code>${method} ${path}</code></li>\n`,
  )}</ul>
</section>
`,
)}`,
  )
}

/** Renders the page of one operation: its request, its response and its errors. */
export function operationPage(operation: OperationShown, serverUrl: string): Html {
  const { title, description, method, path, needsKey, parameters, body, answer, errors } = operation
  const sent = body === null ? {} : { body: indented(body.example) }
  const curl = curlOf({ method, path, hasKey: needsKey, ...sent }, { publicUrl: serverUrl, instanceId: null })
  return docsPage(
    `${title} · API reference`,
    html`<p class="aside"><a href="/docs">API reference</a></p>
<h1>${title}</h1>
<p><code>${method} ${path}</code></p>
<p>${description}</p>
<pre data-copy="the request"><code>${curl}</code></pre>
<section aria-labelledby="parameters">
<h2 id="parameters">Parameters</h2>
${table('Parameters', [...fieldColumns, { name: 'In', cell: (one) => one.in }], parameters)}
</section>
${
  body === null
    ? ''
    : html`<section aria-labelledby="body">
<h2 id="body">Body</h2>
${table('Members of the body', fieldColumns, body.fields)}
</section>
`
}<section aria-labelledby="answer">
<h2 id="answer">Response ${answer.status}</h2>
<pre><code>${indented(answer.example)}</code></pre>
${table('Members of the response', answerColumns, answer.fields)}
</section>
<section aria-labelledby="errors">
<h2 id="errors">Errors</h2>
${table<OperationShown['errors'][number]>(
  'Errors',
  [
    { name: 'Status', cell: ({ status }) => status },
    { name: 'Code', cell: (error) => withCode(error.description) },
  ],
  errors,
)}
</section>`,
  )
}

const fieldColumns: readonly [Column<Field>, ...Column<Field>[]] = [
  { name: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
  { name: 'Type', cell: ({ type, isRequired }) => (isRequired ? html`${type} <strong>required</strong>` : type) },
  { name: 'Meaning', cell: ({ description }) => description },
]

/** The columns for a response. They do not mark required members, because a response always contains all members. */
const answerColumns: typeof fieldColumns = [
  fieldColumns[0],
  { name: 'Type', cell: ({ type }) => type },
  { name: 'Meaning', cell: ({ description }) => description },
]

const indented = (value: unknown) => JSON.stringify(value, null, 2)

/** Renders text, with the parts between backticks as code. */
function withCode(text: string): readonly Html[] {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))
}

function docsPage(title: string, main: Html): Html {
  return pageDocument({
    title,
    scripts: html`<script src="/scripts/copy.js" type="module"></script>`,
    body: html`<main id="main" tabindex="-1" class="broad">\n${main}\n</main>`,
  })
}
