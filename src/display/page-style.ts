import { paletteByBrowser } from './palette.ts'

/**
 * What every page for a person looks like, whoever shows it: the service, or a command that waits for a browser. The
 * service serves it as a file; a page that loads nothing has it within.
 */
export const pageStyle = `${paletteByBrowser}
* {
  box-sizing: border-box;
}

body {
  margin: 0;
  background: var(--page);
  color: var(--text);
  font:
    1rem / 1.5 system-ui,
    sans-serif;
  overflow-wrap: anywhere;
}

h1,
h2,
p,
dl,
dd,
ul {
  margin: 0;
  padding: 0;
}

h1 {
  font-size: 1.5rem;
  line-height: 1.25;
}

main {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 1.25rem;
  max-width: 30rem;
  margin: 0 auto;
  padding: 1.5rem;
  background: var(--surface);
}

@media (min-width: 34rem) {
  main {
    margin: 2.5rem auto;
    padding: 2rem;
    border: 1px solid var(--faint);
    border-radius: 0.75rem;
  }
}

dt,
.aside {
  color: var(--quiet);
}

.aside {
  font-size: 0.9375rem;
}

label {
  font-weight: 600;
}

:where(input:not([type="radio"], [type="checkbox"]), textarea) {
  width: 100%;
  min-height: 2.75rem;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--surface);
  color: var(--text);
  font: inherit;
}

[aria-invalid="true"] {
  border-color: var(--problem);
  box-shadow: inset 0 0 0 1px var(--problem);
}

.problem {
  color: var(--problem);
  font-weight: 600;
}

/* What is still silent takes no room, but is there to be heard when it speaks. */
.problem:empty {
  position: absolute;
}

button {
  min-height: 2.75rem;
  padding: 0.5rem 1rem;
  border: 1px solid transparent;
  border-radius: 0.5rem;
  background: var(--accent);
  color: var(--on-accent);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}

.quiet {
  border-color: var(--line);
  background: var(--surface);
  color: var(--text);
}

:focus-visible {
  outline: 3px solid var(--accent);
  outline-offset: 1px;
}

.sandbox {
  padding: 0.375rem 1rem;
  background: var(--sandbox);
  color: var(--on-sandbox);
  font-weight: 600;
  text-align: center;
}

.moved {
  font-weight: normal;
}

.brand {
  display: flex;
  align-items: center;
  gap: 0.5rem;
  max-width: 30rem;
  margin: 0 auto;
  padding: 0.75rem 1.5rem;
  color: var(--quiet);
  font-weight: 600;
}

.brand svg {
  width: 1.5rem;
  height: 1.5rem;
}

@media (min-width: 34rem) {
  .brand {
    padding: 1.5rem 2rem 0;
  }

  .brand + main {
    margin-top: 1rem;
  }
}
`
