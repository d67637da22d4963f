import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

onEachDatabase("the page at a payment's claimLink", (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  const page = async (link: string) => {
    const answer = await world.service.fetch(new Request(link))
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  let people = 0
  const pay = async () => {
    const value = `new${people++}@example.com`
    const attributes = { amount: 1234, counterparty: { type: 'email', value } }
    const { id, attributes: answered } = (await world.post('/payments', attributes)).json.data
    return { id: id as string, link: answered.claimLink as string }
  }

  test('tells who sends how much, until it is claimed', async () => {
    const { id, link } = await pay()
    const open = await page(link)
    expect(open.status).toBe(200)
    expect(open.text).toContain('Sandbox Organization')
    expect(open.text).toContain('$12.34')
    expect(open.text).toContain('waits to be claimed')
    expect(open.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
    expect((await world.send('POST', `/simulations/payments/${id}/complete-claim`)).status).toBe(200)
    expect((await page(link)).text).toContain('It was claimed.')
  })

  test('says so when the payment was taken back', async () => {
    const { id, link } = await pay()
    expect((await world.send('POST', `/payments/${id}/cancel`)).status).toBe(200)
    expect((await page(link)).text).toContain('nothing to claim')
  })

  test('knows no other token', async () => {
    const { link } = await pay()
    expect((await page(`${link}x`)).status).toBe(404)
    expect((await page(new URL('/claim/x', link).href)).status).toBe(404)
  })
})
