#!/usr/bin/env node
import module from 'node:module'

/** Kept equal to `engines` in package.json by a test. */
const neededNode = [22, 19] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < neededNode[0] || (major === neededNode[0] && minor < neededNode[1])) {
  console.error(
    `payments-mcp needs Node.js ${neededNode.join('.')} or newer; this is Node.js ${process.versions.node}.`,
  )
  process.exit(1)
}
// Not there before Node 22.1, so an import by name would fail before the line above is printed.
module.enableCompileCache?.()
if (process.argv.length === 2) {
  const { holdYoungHeap } = await import('./commands/young-heap.ts')
  holdYoungHeap()
  const { stdio } = await import('./commands/stdio.ts')
  await stdio({})
} else {
  const { main } = await import('./commands/main.ts')
  await main(process.argv)
}
