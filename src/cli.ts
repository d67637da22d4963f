#!/usr/bin/env node
import module from 'node:module'
import { refusalOfNode, refuse } from './commands/old-node.ts'

const refusal = refusalOfNode(process.versions.node)
if (refusal !== undefined) refuse(refusal, process.argv[2])
else await start()

async function start(): Promise<void> {
  module.enableCompileCache()
  const isStdio = process.argv.length === 2
  if (isStdio || process.argv[2] === 'serve') {
    const { holdYoungHeap } = await import('./commands/start-memory.ts')
    holdYoungHeap()
  }
  if (isStdio) {
    const { stdio } = await import('./commands/stdio.ts')
    await stdio({})
  } else {
    const { main } = await import('./commands/main.ts')
    await main(process.argv)
  }
}
