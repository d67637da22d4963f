// The page works without this script too.

/** Lets people filter scenarios by family and by text. Returns a function that clears the filters. */
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

  /** Shows only those scenarios of the chosen family that contain the typed text. */
  const filter = () => {
    const [wanted, chosen] = [words?.value.trim().toLowerCase() ?? '', family?.value ?? '']
    const shown = scenarios.filter((one) => {
      if (wanted !== '' && one.text === '') one.text = (one.section.textContent ?? '').toLowerCase()
      return (chosen === '' || one.section.dataset.family === chosen) && one.text.includes(wanted)
    })
    const visible = new Set(shown.flatMap(({ section, row }) => [section, row]))
    for (const { section, row } of scenarios) {
      section.hidden = !visible.has(section)
      // A table row contains a trap and its twin, so it stays visible as long as at least one of the two is shown.
      if (row) row.hidden = !visible.has(row)
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
  // When a person navigates back to this page, the browser restores the values of the filters. So the filters are
  // applied now.
  filter()
  return showAll
}

// Opens the trial that the page's URL points to. For printing, opens the failed trials as well.
;(() => {
  const showAll = createFilters()

  /** @type {NodeListOf<HTMLDetailsElement>} */
  const trials = document.querySelectorAll('details.trial')

  /**
   * Opens the trial that the URL's fragment identifies. If the fragment identifies a step, opens the trial with that
   * step.
   */
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (target === null) return
    if (target.closest('[hidden]') !== null) showAll()
    for (let at = /** @type {Element | null} */ (target); at !== null; at = at.parentElement) {
      if (at instanceof HTMLDetailsElement) at.open = true
    }
    target.scrollIntoView()
  }

  for (const tools of document.querySelectorAll('.tools')) {
    tools.removeAttribute('hidden')
    tools.addEventListener('click', ({ target }) => {
      if (!(target instanceof HTMLButtonElement)) return
      for (const trial of trials) trial.open = target.dataset.open === 'failed' && !trial.matches('.passed')
    })
  }

  // Printed pages show all failed trials in full, and also the passed trials that were already open.
  /** @type {HTMLDetailsElement[]} */
  let openedForPrinting = []
  addEventListener('beforeprint', () => {
    openedForPrinting = [...trials].filter((trial) => !trial.open && !trial.matches('.passed'))
    for (const trial of openedForPrinting) trial.open = true
  })
  addEventListener('afterprint', () => {
    for (const trial of openedForPrinting.splice(0)) trial.open = false
  })

  addEventListener('hashchange', openTarget)
  openTarget()
})()
