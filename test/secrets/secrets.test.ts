import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../oauth/application.ts'
import { openBrowser } from '../oauth/browser.ts'
import { allRows } from '../service/books.ts'
import { databases } from '../support/databases.ts'
import { createFlows, type Flows } from './flows.ts'

describe.each(databases)('nothing secret at rest or in words on $name', (database) => {
  let flows: Flows

  beforeAll(async () => {
    flows = await createFlows(database)
    await flows.overRest()
    await overOAuth(flows)
    await flows.overMcp()
  })
  afterAll(() => flows.close())

  test('each secret is where it belongs, and nowhere else', async () => {
    const { canaries } = flows
    const places = { ...(await kept(flows)), ...flows.said }
    console.info(
      `${database.name}: ${canaries.values.size} canaries (${new Set(canaries.values.values()).size} kinds) × ${Object.keys(places).length} places`,
    )
    expect(canaries.values.size).toBeGreaterThan(20)
    for (const [place, text] of Object.entries(places)) expect(text.length, place).toBeGreaterThan(100)
    expect(canaries.hitsIn(places)).toEqual([])
  })

  async function kept({ on: { world } }: Flows): Promise<Record<string, string>> {
    const path = world.url.replace(/^sqlite:/, '')
    const files = database.name === 'sqlite' ? [path, `${path}-wal`].filter(existsSync) : []
    let activity = ''
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { text, json } = await world.get(`/activity?limit=100${cursor && `&cursor=${cursor}`}`, {
        key: world.apiKey,
      })
      activity += text
      cursor = json.meta.pagination.nextCursor
    }
    return {
      'the rows': JSON.stringify(await allRows(world.store)),
      'the log': world.logged.join('\n'),
      'the activity': activity,
      ...Object.fromEntries(files.map((file) => [file.slice(path.length - 7), readFileSync(file, 'latin1')])),
    }
  }
})

/** An application signs in, renews its tokens, and looks at them. */
async function overOAuth({ on: { world }, canaries }: Flows): Promise<void> {
  const browser = openBrowser(world)
  const { tokens, back, application, attempt } = await connect(world, { browser })
  canaries.add('authorization code', String(new URL(back.url).searchParams.get('code')))
  canaries.add('PKCE verifier', attempt.verifier)
  const refresh = async (token: string) => {
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: application.client.client_id,
    })
    const request = new Request(String(application.server.token_endpoint), { method: 'POST', body })
    const answer = await world.service.fetch(request)
    if (answer.status !== 200) throw new Error(await answer.text())
    return (await answer.json()) as typeof tokens
  }
  const renewed = await refresh(tokens.refresh_token)
  for (const { access_token, refresh_token } of [tokens, renewed]) {
    canaries.add('access token', access_token)
    canaries.add('refresh token', refresh_token)
  }
  for (const [name, value] of browser.cookies) if (value.length >= 20) canaries.add(`cookie ${name}`, value)
  const listed = await world.service.fetch(
    new Request('http://127.0.0.1:4010/whoami', { headers: { Authorization: `Bearer ${renewed.access_token}` } }),
  )
  if (listed.status !== 200) throw new Error(await listed.text())
}
