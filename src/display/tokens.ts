/** The colors of all pages, named by purpose. Each has a value for the light scheme and one for the dark scheme. */
const palette = {
  page: ['#f3f4f6', '#101216'],
  surface: ['#ffffff', '#1a1d23'],
  text: ['#16181d', '#eceef2'],
  quiet: ['#565b66', '#a9afbb'],
  line: ['#8a909c', '#767d8a'],
  faint: ['#e3e5e9', '#2e323a'],
  accent: ['#4150d8', '#a3aeff'],
  'on-accent': ['#ffffff', '#10163f'],
  good: ['#166534', '#86efac'],
  open: ['#92400e', '#fcd34d'],
  problem: ['#b3161b', '#ff9d9d'],
  sandbox: ['#fdf0c8', '#3d3212'],
  'on-sandbox': ['#5c4400', '#f6dd97'],
} as const satisfies Record<string, readonly [light: string, dark: string]>

/** Common sizes, borders and fonts. */
const measures = {
  small: '0.8125rem',
  gap: '0.75rem',
  round: '0.5rem',
  edge: '1px solid var(--faint)',
  mono: 'ui-monospace, monospace',
} as const

/** The design tokens for an embedded view. The embedding page may choose the light or the dark scheme. */
export const tokensByPage = root((light, dark) => `light-dark(${light}, ${dark})`)

/** The color of the logo. It is between the two accent colors, so that it stands out in both schemes. */
export const markColor = '#6b7cff'

/**
 * The design tokens for other pages. They follow the browser's color scheme, even in browsers without `light-dark()`.
 */
export const tokensByBrowser = `${root((light) => light)}
@media (prefers-color-scheme: dark) {
${root((_, dark) => dark)}}
`

function root(colorOf: (light: string, dark: string) => string): string {
  const colors = Object.entries(palette).map(([name, [light, dark]]) => [name, colorOf(light, dark)])
  const lines = [...colors, ...Object.entries(measures)].map(([name, value]) => `  --${name}: ${value};\n`)
  return `:root {\n  color-scheme: light dark;\n${lines.join('')}}\n`
}
