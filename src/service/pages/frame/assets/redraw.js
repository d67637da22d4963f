/**
 * Redraws a part of a page without disturbing the person. The existing elements are reused, so the focus, the
 * selection, the scroll position and open details stay as they are.
 */

/**
 * Changes the content of an element to match `wanted`.
 * @param {Element} part
 * @param {DocumentFragment | Element} wanted The new content. Its nodes may be moved to `part`.
 */
export function redraw(part, wanted) {
  const focused = part.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null
  updateChildren(part, wanted)
  if (focused === null || focused === document.activeElement) return
  const same = focused.isConnected || !focused.id ? focused : document.getElementById(focused.id)
  same?.focus({ preventScroll: true })
}

/**
 * Changes the children of an element to match those of `wanted`. Existing nodes are reused where possible.
 * @param {Element} shown
 * @param {Element | DocumentFragment} wanted
 */
function updateChildren(shown, wanted) {
  const reused = matchNodes([...shown.childNodes], [...wanted.childNodes])
  const remaining = new Set(reused.values())
  for (const node of [...shown.childNodes]) if (!remaining.has(node)) node.remove()
  let at = shown.firstChild
  for (const node of [...wanted.childNodes]) {
    const own = reused.get(node) ?? node
    if (own === at) at = at.nextSibling
    else shown.insertBefore(own, at)
    if (own !== node) update(own, node)
  }
}

/**
 * Maps wanted nodes to the existing nodes that can be reused for them.
 * @param {ChildNode[]} shown
 * @param {ChildNode[]} wanted
 */
function matchNodes(shown, wanted) {
  const byKey = Map.groupBy(shown, keyOf)
  /** @type {Map<Node, ChildNode>} */
  const reused = new Map()
  for (const node of wanted) {
    const own = byKey.get(keyOf(node))?.shift()
    if (own !== undefined) reused.set(node, own)
  }
  return reused
}

/**
 * Returns the key by which nodes are matched. The key of an element contains its id or, if there is no id, its address,
 * name, value and label. The key of a form also contains the values of its hidden fields. A node is reused only for a
 * node with the same key. Otherwise, a button could turn into a different button just before a person presses it.
 * @param {Node} node
 */
function keyOf(node) {
  if (!(node instanceof Element)) return node.nodeName
  const identifying = node.id ? ['id'] : ['href', 'action', 'name', 'value', 'data-label']
  const sent = node instanceof HTMLFormElement ? [...node.querySelectorAll('input[type="hidden"]')] : []
  const values = sent.map((input) => input.getAttribute('value'))
  return [node.nodeName, ...identifying.map((name) => node.getAttribute(name)), ...values].join('\n')
}

/**
 * Changes a node to match `wanted`.
 * @param {Node} shown
 * @param {Node} wanted
 */
function update(shown, wanted) {
  if (shown instanceof Element && wanted instanceof Element) {
    updateAttributes(shown, wanted)
    updateChildren(shown, wanted)
  } else if (shown.nodeValue !== wanted.nodeValue) shown.nodeValue = wanted.nodeValue
}

/**
 * Changes the attributes of an element to match those of `wanted`.
 * @param {Element} shown
 * @param {Element} wanted
 */
function updateAttributes(shown, wanted) {
  for (const { name, value } of wanted.attributes)
    if (shown.getAttribute(name) !== value) shown.setAttribute(name, value)
  for (const name of shown.getAttributeNames()) {
    // A redraw never closes details, because the person may have opened them.
    const staysOpen = name === 'open' && shown instanceof HTMLDetailsElement
    if (!staysOpen && !wanted.hasAttribute(name)) shown.removeAttribute(name)
  }
}
