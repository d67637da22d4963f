import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { connectHost, no, person } from './connected.ts'
import { errorOf, hosts } from './hosts.ts'

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite)
})
afterAll(() => world.drop())

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Answers requests for a card-details page with 404, as an API without these pages does. */
const answerWithoutPages = ({ url }: Request) => {
  if (!url.endsWith('/details-page')) return undefined
  const errors = [
    { code: 'not_found', detail: 'There is no such operation.', status: '404', meta: { supportId: 'req_1' } },
  ]
  return Response.json({ errors }, { status: 404 })
}

describe.each(hosts)('masked card details, $host', ({ open }) => {
  const showDetails = async (who: ReturnType<typeof person> | undefined, withPage = true) => {
    const { host, sent, logged, close } = await connectHost(world, open, {
      ...(withPage ? {} : { between: answerWithoutPages }),
      cardDetails: 'masked',
      toolsets: ['default'],
      publicUrl: 'https://pay.example',
      ...(who === undefined ? {} : { person: who }),
    })
    closing.push(close)
    const cardId = await world.issueCard()
    const { number, cvv } = (await world.get(`/agent-cards/${cardId}/details`)).json.data.attributes
    await host.listTools()
    const result = await host.callTool('get_agent_card_details', { cardId })
    const everything = JSON.stringify([result, who?.asked, logged, host.getInstructions()])
    expect(everything).not.toContain(number)
    expect(JSON.stringify(result)).not.toContain('/cards/')
    expect(result.structuredContent?.data.attributes).toEqual({
      number: `•••• ${number.slice(-4)}`,
      expirationMonth: expect.any(Number),
      expirationYear: expect.any(Number),
    })
    expect(result.structuredContent?.data.attributes).not.toHaveProperty('cvv')
    expect(cvv).toMatch(/^\d{3}$/)
    const pages = sent.filter(({ line }) => line.endsWith('/details-page')).map(({ line }) => line.split('/')[2])
    return { host, cardId, pages, next: result.structuredContent?.meta?.next }
  }

  test('the person sees the card number on a page, and the model sees only its last four digits', async () => {
    const who = person([{ action: 'accept' }])
    const { cardId, pages, next, host } = await showDetails(who)
    expect(who.asked).toMatchObject([
      { mode: 'url', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:4010\/cards\/[\w-]{43,}$/) },
    ])
    expect(pages).toEqual([cardId])
    expect(next).toContain('The person was shown the number.')
    expect(host.getInstructions()).toContain('last four digits')
  })

  test('no full number is shown if the person declines, the host opens no pages, or the API has no page', async () => {
    expect((await showDetails(person([no]))).next).toContain('did not want to see')
    for (const [who, withPage] of [
      [undefined, true],
      [person([no], { form: {} }), true],
      [person([no]), false],
    ] as const) {
      const { pages, cardId, next } = await showDetails(who, withPage)
      expect(pages).toEqual(withPage ? [] : [cardId])
      expect(next).toContain('the dashboard at https://pay.example')
    }
  })

  test('no page opens for a card that does not exist', async () => {
    const who = person([no])
    const { host, close } = await connectHost(world, open, { cardDetails: 'masked', person: who })
    closing.push(close)
    expect(errorOf(await host.callTool('get_agent_card_details', { cardId: 'pcd_1' })).code).toBe('not_found')
    expect(who.asked).toEqual([])
  })
})

test('get_agent_card_details is described according to its mode; production masks numbers by default', async () => {
  const detailsTool = (choice: Parameters<typeof toolList>[0]) =>
    toolList(choice).find(({ name }) => name === 'get_agent_card_details')
  const masked = detailsTool({ ...everyTool('production'), cardDetails: 'masked' })
  expect(masked?.description).toContain('last four digits')
  expect(JSON.stringify(masked?.outputSchema)).not.toContain('cvv')
  expect(JSON.stringify(detailsTool(everyTool('production'))?.outputSchema)).toContain('cvv')
  // The model must not get the page's address, because it could open the page in the person's browser.
  const toolNames = (cardDetails: 'masked' | 'reveal') =>
    toolList({ ...everyTool('sandbox'), cardDetails }).map(({ name }) => name)
  expect(toolNames('reveal')).toContain('create_agent_card_details_page')
  expect(toolNames('masked')).not.toContain('create_agent_card_details_page')
  const { host, close } = await connectHost(world, hosts[0].open, { environment: 'production', toolsets: ['default'] })
  closing.push(close)
  const { tools } = await host.listTools()
  expect(tools.find(({ name }) => name === 'get_agent_card_details')?.description).toBe(masked?.description)
})
