// The page works without this script too.

/** Lets readers choose a family and search. Returns a function that shows all scenarios again. */
const createFilters = () => {
  const filters = document.querySelector('.filters')
  const words = filters?.querySelector('input')
  const family = filters?.querySelector('select')

  /** @type {Map<string | null, HTMLTableRowElement | null>} */
  const rows = new Map()
  for (const link of document.querySelectorAll('.scenarios p > a'))
    rows.set(link.getAttribute('href'), link.closest('tr'))
  const scenarios = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('section.scenario')]).map(
    (section) => ({
      section,
      row: rows.get(`#${section.getAttribute('aria-labelledby')}`),
      text: '',
    }),
  )

  /** Shows only the scenarios of the chosen family that contain the typed text. */
  const filter = () => {
    const [wanted, chosen] = [words?.value.trim().toLowerCase() ?? '', family?.value ?? '']
    const shown = scenarios.filter((one) => {
      if (wanted !== '' && one.text === '') one.text = (one.section.textContent ?? '').toLowerCase()
      return (chosen === '' || one.section.dataset.family === chosen) && one.text.includes(wanted)
    })
    const kept = new Set(shown.flatMap(({ section, row }) => [section, row]))
    for (const { section, row } of scenarios) {
      section.hidden = !kept.has(section)
      // A row has a trap and its twin.
      if (row) row.hidden = !kept.has(row)
    }
    for (const part of document.querySelectorAll('.scenarios tbody')) {
      part.toggleAttribute('hidden', part.querySelector('tr:has(td):not([hidden])') === null)
    }
    const output = filters?.querySelector('output')
    if (output)
      output.value = shown.length === scenarios.length ? '' : `${shown.length} of ${scenarios.length} scenarios`
  }

  const showAll = () => {
    if (words) words.value = ''
    if (family) family.value = ''
    filter()
  }

  filters?.removeAttribute('hidden')
  filters?.addEventListener('input', filter)
  // Applies values that the browser restored after a navigation back.
  filter()
  return showAll
}

// Opens the trial that the page's address names. For printing, opens the failed trials as well.
;(() => {
  const showAll = createFilters()

  /** @type {NodeListOf<HTMLDetailsElement>} */
  const trials = document.querySelectorAll('details.trial')

  /** Opens the trial that the address names, directly or by one of its steps. Some browsers do this by themselves. */
  const openNamed = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (named === null) return
    if (named.closest('[hidden]') !== null) showAll()
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

  // Printed pages show failed trials in full, and the trials that the reader opened.
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
