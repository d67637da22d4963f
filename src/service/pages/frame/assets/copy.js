/** Adds a copy button to each block with text for copying, if the browser has a clipboard. */
for (const block of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-copy]'))) {
  if (navigator.clipboard === undefined) break
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet copy'
  button.textContent = 'Copy'
  const what = document.createElement('span')
  what.className = 'unseen'
  what.textContent = ` ${block.dataset.copy}`
  button.append(what)
  const said = document.createElement('span')
  said.className = 'said'
  said.role = 'status'
  const row = document.createElement('div')
  row.className = 'line'
  row.append(button, said)
  block.after(row)
  button.addEventListener('click', async () => {
    said.textContent = ''
    try {
      await navigator.clipboard.writeText(block.textContent ?? '')
      said.textContent = 'Copied.'
    } catch {
      said.textContent = 'Not copied: the browser does not allow it. Select the text instead.'
    }
  })
}
