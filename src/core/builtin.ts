/**
 * Returns a getter that loads a Node built-in on first use. An import statement would load it at startup with all its
 * dependencies, and an AI host waits for startup before its first request.
 */
export function builtin<Module>(name: `node:${string}`): () => Module {
  let loaded: Module | undefined
  return () => {
    loaded ??= process.getBuiltinModule(name) as Module
    return loaded
  }
}
