/** Draws the parts of a page of the console anew when the service says that something changed. */
const parts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-live]'))
document.documentElement.dataset.live = String(parts.length)
