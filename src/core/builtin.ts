/**
 * A module of Node's own that is loaded when it is first used. An import statement would load it at the start, with all
 * that its exports need: an AI host waits for that, whatever it asks first.
 */
export function builtin<Module>(name: `node:${string}`): () => Module {
  let loaded: Module | undefined
  return () => {
    loaded ??= process.getBuiltinModule(name) as Module
    return loaded
  }
}
