import { runResource } from '../support/run-resources.ts'

/** The command with which a host starts this package's MCP server. */
export const ownStart = { command: process.execPath, args: [await runResource('cli')], env: {} }
