/** The oldest supported Node.js. A test checks that `engines` in package.json states the same version. */
const neededNode = [22, 19] as const

// This file must load on any Node.js with ES modules, so it uses no syntax or function newer than Node.js 14.

/** Returns an error message if this version of Node.js cannot run the program; undefined if it can. */
export function refusalOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1])) return undefined
  return `payments-mcp needs Node.js ${neededNode.join('.')} or newer; this is Node.js ${version}.`
}

/**
 * Throws an error if Node.js is too old. Without this check, the program would fail later, with a message that states
 * neither the cause nor the remedy. The error's message starts with the name of the caller.
 */
export function requireNode(caller: string, version: string = process.versions.node): void {
  const refusal = refusalOfNode(version)
  if (refusal !== undefined) throw new Error(`${caller}: ${refusal} Run your program with a newer Node.js.`)
}
