import module from 'node:module'

// The one-tool server, started as src/cli.ts starts ours: what is left of the difference is not the compile cache's.
module.enableCompileCache()
await import('./one-tool-server.ts')
