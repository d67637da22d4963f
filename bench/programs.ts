import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../scripts/bundle.ts'
import { type HttpServer, startHttpServer } from './http-server.ts'
import { manyPerMinute, openSandbox } from './sandbox.ts'
import { type StdioServer, startStdioServer, timeToFirstLine } from './stdio-server.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The programs compared over stdio. */
export interface Programs {
  /** This package's bundle, on a sandbox file that exists already. */
  startOurs(): StdioServer
  /** The one-tool server, bundled in the same way. */
  startOneTool(): StdioServer
  /** The same, with the compile cache. */
  startOneToolCached(): StdioServer
  /** A server whose one tool keeps a row in a SQLite file of its own. */
  startOneToolDurable(): StdioServer
  /** `serve` of this package's bundle, with the agent's key as the bearer. */
  startOursHttp(): Promise<HttpServer>
  /** The SDK's own HTTP transports around one tool. */
  startOneToolHttp(): Promise<HttpServer>
  /** Starts a Node that prints a line and ends; the milliseconds until the line. */
  timeBareNode(): Promise<number>
}

export async function preparePrograms(directory: string): Promise<Programs> {
  // The compile cache lives in the folder for temporary files: here it begins empty and goes with the rest.
  const env = { TMPDIR: directory, TMP: directory, TEMP: directory }
  const bundled = async (name: string) => {
    const folder = join(directory, name)
    await bundle({ entry: here(`${name}.ts`), folder })
    return join(folder, 'server/cli.js')
  }
  const oneTool = await bundled('one-tool-server')
  const cached = await bundled('one-tool-server-cached')
  const durable = await bundled('one-tool-server-durable')
  const oneToolHttp = await bundled('one-tool-http-server')
  const bareNode = join(directory, 'bare.cjs')
  writeFileSync(bareNode, "process.stdout.write('started\\n')\n")
  const databaseUrl = `sqlite:${join(directory, 'stdio.sqlite')}`
  await (await openSandbox(databaseUrl)).close()
  const oursEnv = { ...env, PAYMENTS_DATABASE_URL: databaseUrl, PAYMENTS_RATE_LIMIT: String(manyPerMinute) }
  return {
    startOurs: () => startStdioServer([here('../bundle/server/cli.js')], oursEnv),
    startOneTool: () => startStdioServer([oneTool], env),
    startOneToolCached: () => startStdioServer([cached], env),
    startOneToolDurable: () => startStdioServer([durable, join(directory, 'durable.sqlite')], env),
    startOursHttp: () => {
      const secret = `bench-${'x'.repeat(24)}`
      const served = { ...oursEnv, PAYMENTS_PORT: '0', PAYMENTS_SANDBOX_AGENT_KEY: secret, PAYMENTS_LOG_LEVEL: 'error' }
      return startHttpServer([here('../bundle/server/cli.js'), 'serve'], {
        env: { ...served, PAYMENTS_DATABASE_URL: `sqlite:${join(directory, 'http.sqlite')}` },
        bearer: `ak_ntl_sandbox_${secret}`,
      })
    },
    startOneToolHttp: () => startHttpServer([oneToolHttp], { env }),
    timeBareNode: () => timeToFirstLine(bareNode, env),
  }
}
