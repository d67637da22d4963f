import { html } from 'hono/html'
import { type Html, pageDocument } from '../frame/document.ts'

/** Renders the page with the OpenAPI document. Without a script it links to the document itself. */
export function docsPage(): Html {
  return pageDocument({
    title: 'API documentation',
    styles: ['/styles/base.css', '/docs/swagger-ui.css', '/styles/docs.css'],
    scripts: html`<script src="/docs/swagger-ui-bundle.js" defer></script><script src="/scripts/docs.js" type="module"></script>`,
    body: html`<div class="docs">
<noscript><p>To read the API here, allow this page to run JavaScript. The document itself is <a href="/openapi.json">openapi.json</a>.</p></noscript>
<div id="viewer"></div>
</div>`,
  })
}
