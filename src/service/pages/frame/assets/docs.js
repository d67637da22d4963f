/** @typedef {(options: object) => unknown} Viewer */
/** @typedef {{ createPolicy(name: string, policy: { createHTML(text: string): string }): unknown }} TrustedTypes */

const { SwaggerUIBundle, trustedTypes } = /** @type {{ SwaggerUIBundle: Viewer, trustedTypes?: TrustedTypes }} */ (
  /** @type {unknown} */ (window)
)

// The viewer generates HTML from the document, which is this site's own. The page's policy forbids inline scripts, and
// this policy allows only HTML: no script text and no script address.
trustedTypes?.createPolicy('default', { createHTML: (text) => text })

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#viewer',
  // The address names the open operation.
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  // Disables requests to an external validator.
  validatorUrl: null,
})

// The viewer's dark style depends on this class only.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
