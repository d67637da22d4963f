import { runResource } from '../support/run-resources.ts'

/** How a host starts this package. */
export const ownStart = { command: process.execPath, args: [await runResource('cli')], env: {} }
