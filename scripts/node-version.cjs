// Runs before the scripts that start from source, on whatever Node.js version npm found. It is plain JavaScript that
// every version can run.
const { engines } = require('../package.json')

const [needed, found] = [engines.node.replace('>=', ''), process.versions.node]
const [[major, minor], [foundMajor, foundMinor]] = [needed, found].map((version) => version.split('.').map(Number))
if (foundMajor < major || (foundMajor === major && foundMinor < minor)) {
  console.error(`payments-mcp needs Node.js ${needed} or newer; this is Node.js ${found}. Run npm ci: it brings one.`)
  process.exit(1)
}
