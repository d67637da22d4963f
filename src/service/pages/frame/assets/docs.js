/** @typedef {(options: object) => unknown} Viewer */
/** @typedef {{ createPolicy(name: string, policy: { createHTML(text: string): string }): unknown }} TrustedTypes */

const { SwaggerUIBundle, trustedTypes } = /** @type {{ SwaggerUIBundle: Viewer, trustedTypes?: TrustedTypes }} */ (
  /** @type {unknown} */ (window)
)

// The viewer writes HTML that it makes of the document, which is this site's own. A script within would not run: the
// policy of the page allows none, and this allows HTML only, no text as a script and no address of one.
trustedTypes?.createPolicy('default', { createHTML: (text) => text })

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#viewer',
  // The address names the operation that is open.
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  // Nothing is sent anywhere but here.
  validatorUrl: null,
})

// The viewer has a dark look of its own, which it takes by this class only.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
