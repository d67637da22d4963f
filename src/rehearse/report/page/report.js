// Opens the trials that an address names or that are printed. The page works without this script too.
;(() => {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const trials = document.querySelectorAll('details.trial')

  /** Opens the trial that the address names, or whose step it names, in browsers that do not do so themselves. */
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

  // Printed pages show failed trials in full, and those that the reader opened.
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
