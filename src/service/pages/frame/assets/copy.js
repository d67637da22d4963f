/** Adds a copy button after each `data-copy` element, if the browser lets this page use the clipboard. */
for (const block of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-copy]'))) {
  if (navigator.clipboard === undefined) break
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet copy'
  button.textContent = 'Copy'
  const content = document.createElement('span')
  content.className = 'unseen'
  content.textContent = ` ${block.dataset.copy}`
  button.append(content)
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
      said.textContent = 'The browser does not allow copying. Select the text and copy it yourself.'
    }
  })
}
