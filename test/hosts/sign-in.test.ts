import { afterEach, describe, expect, test } from 'vitest'
import { newHome, runIn } from './hosts.ts'
import { startInternet } from './internet.ts'
import { scriptedModel } from './model/server.ts'
import { expireAccessToken, owner, type SigningHost, signIn, signingHosts } from './sign-in.ts'
import { serveSandbox } from './world.ts'

let cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo()
  cleanUp = []
})

async function startSandbox(settings: Record<string, string> = {}) {
  const { home, remove } = newHome()
  cleanUp.push(remove)
  const served = await serveSandbox(home, { PAYMENTS_SANDBOX_PASSWORD: owner.password, ...settings })
  cleanUp.push(() => served.stop())
  return { home, mcpUrl: `${served.url}/mcp` }
}

async function simulatedInternet() {
  const { home, remove } = newHome()
  cleanUp.push(remove)
  const started = await startInternet(home)
  cleanUp.push(() => started.close())
  return started
}

/**
 * Makes the host's model call `whoami`. Returns the result that the model reads, or the host's output if there is none.
 */
async function whoami(host: SigningHost, home: string, mcpUrl: string): Promise<string> {
  const model = await scriptedModel([{ call: 'whoami', arguments: () => ({}) }, { say: () => 'Done.' }])
  try {
    const ran = await runIn(home, host.start({ home, mcp: { url: mcpUrl }, model: model.url }))
    return model.results().join('\n') || ran.output
  } finally {
    await model.close()
  }
}

describe.each(signingHosts)('the sign-in of $name', (host) => {
  test(`${host.name} signs in without internet access, and continues after its access token expires`, async () => {
    const { home, mcpUrl } = await startSandbox()
    const { page, exitCode } = await signIn(host, home, mcpUrl)
    expect({ status: page.status, exitCode }).toEqual({ status: 200, exitCode: 0 })
    expect(await whoami(host, home, mcpUrl)).toMatch(/agt_[0-9a-f]{32}/)
    expireAccessToken(host, home)
    expect(await whoami(host, home, mcpUrl)).toMatch(/agt_[0-9a-f]{32}/)
  })

  test(`${host.name} signs in with its client metadata document, which is fetched only once`, async () => {
    const { env, fetched } = await simulatedInternet()
    const { home, mcpUrl } = await startSandbox({ PAYMENTS_CLIENT_METADATA: 'on', ...env })
    const { page, exitCode } = await signIn(host, home, mcpUrl)
    expect({ status: page.status, exitCode }).toEqual({ status: 200, exitCode: 0 })
    expect(await whoami(host, home, mcpUrl)).toMatch(/agt_[0-9a-f]{32}/)
    expireAccessToken(host, home)
    expect(await whoami(host, home, mcpUrl)).toMatch(/agt_[0-9a-f]{32}/)
    expect(fetched).toEqual([host.document])
  })

  test(`if the metadata document of ${host.name} cannot be fetched, the error page shows the hostname`, async () => {
    const { home, mcpUrl } = await startSandbox({ PAYMENTS_CLIENT_METADATA: 'on' })
    const { page } = await signIn(host, home, mcpUrl)
    expect(page.status).toBeGreaterThanOrEqual(400)
    expect(page.text).toContain(new URL(host.document).hostname)
  })
})
