/**
 * Returns a getter that loads a built-in module of Node.js on first use. An import statement would load the module and
 * its dependencies at startup. AI hosts would then wait longer before they can send the first request.
 */
export function builtin<Module>(name: `node:${string}`): () => Module {
  let loaded: Module | undefined
  return () => {
    loaded ??= process.getBuiltinModule(name) as Module
    return loaded
  }
}
