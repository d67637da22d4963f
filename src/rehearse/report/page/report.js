// Opens the trials that an address names or that are printed. The page works without this script too.
;(() => {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const trials = document.querySelectorAll('details.trial')

  /** Browsers that do not open a closed trial by themselves when an address names it, or a step within. */
  const openNamed = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (named === null) return
    for (let at = /** @type {Element | null} */ (named); at !== null; at = at.parentElement) {
      if (at instanceof HTMLDetailsElement) at.open = true
    }
    named.scrollIntoView()
  }

  for (const tools of document.querySelectorAll('.tools')) {
    tools.removeAttribute('hidden')
    tools.addEventListener('click', ({ target }) => {
      if (!(target instanceof HTMLButtonElement)) return
      for (const trial of trials) trial.open = target.dataset.open === 'failed' && !trial.matches('.passed')
    })
  }

  // Paper cannot be opened: it has what did not pass in full, and what else the reader had opened.
  /** @type {HTMLDetailsElement[]} */
  let openedForPaper = []
  addEventListener('beforeprint', () => {
    openedForPaper = [...trials].filter((trial) => !trial.open && !trial.matches('.passed'))
    for (const trial of openedForPaper) trial.open = true
  })
  addEventListener('afterprint', () => {
    for (const trial of openedForPaper.splice(0)) trial.open = false
  })

  addEventListener('hashchange', openNamed)
  openNamed()
})()
