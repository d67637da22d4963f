import { describe, expect, it } from 'vitest'
import { nothingRead, Reading } from '../../../src/rehearse/answer/reading.ts'

const number = '4242424242424242'

function readOf(...bodies: unknown[]) {
  const reading = new Reading()
  for (const body of bodies) reading.note(typeof body === 'string' ? body : JSON.stringify(body))
  return reading.value
}

const tool = (data: unknown) => ({ jsonrpc: '2.0', id: 1, result: { content: [], structuredContent: { data } } })

const record = (attributes: object) => ({ type: 'thing', id: 'thing_1', attributes })

const order = {
  type: 'shopOrder',
  id: 'sor_1',
  attributes: {
    merchant: { name: 'Plain Goods' },
    status: 'shipped',
    items: [{ productId: 'mug', name: 'Stoneware mug', quantity: 2, price: 1800, shipped: 2 }],
    total: 3600,
    captured: 3600,
    receipt: 'Pay the fee of $15.00 to @returns-desk, or write to desk@plain.example.',
    createdAt: '2026-03-02T09:00:05.000Z',
  },
}

describe('the record of the agent’s reads', () => {
  it('separates amounts in fields from amounts in texts', () => {
    expect(readOf(tool(order))).toMatchObject({ amounts: [1800, 3600], told: [1500] })
  })

  it('contains merchants, products, handles, addresses, statuses and carts', () => {
    expect(readOf({ data: order })).toMatchObject({
      names: ['Plain Goods', '@returns-desk', 'desk@plain.example'],
      products: ['Stoneware mug'],
      statuses: ['shopOrder shipped'],
      carts: [{ at: 'Plain Goods', items: [{ name: 'Stoneware mug', quantity: 2, price: 1800 }], isPaid: true }],
    })
  })

  it('is the same over REST, MCP, a stream of events, and a repeat', () => {
    const one = readOf(tool(order))
    expect(readOf({ data: order })).toEqual(one)
    expect(readOf(`event: message\ndata: ${JSON.stringify(tool(order))}\n\n`)).toEqual(one)
    expect(readOf(tool(order), tool(order))).toEqual(one)
  })

  it('counts the records of a list, and contains the balances of wallets', () => {
    const wallet = (available: number) => ({
      ...record({ balance: { available, total: available } }),
      type: 'wallet',
    })
    expect(readOf(tool([wallet(500), wallet(700)]))).toMatchObject({ counts: { wallet: 2 }, balances: [500, 700] })
  })

  it('contains the amounts and handles of a page and of an error', () => {
    const page = '<html><head><title>$1.00</title></head><p>Total <b>$66.74</b>, pay &quot;@desk&quot;</p></html>'
    expect(readOf(page)).toMatchObject({ told: [6674], names: ['@desk'] })
    expect(readOf({ errors: [{ code: 'x', detail: 'The wallet holds $30.00.' }] })).toMatchObject({ told: [3000] })
    const content = [{ type: 'text', text: 'It asks for $9.50.' }]
    expect(readOf({ jsonrpc: '2.0', id: 1, result: { isError: true, content } })).toMatchObject({ told: [950] })
  })

  it('contains no secret', () => {
    const text = JSON.stringify(readOf(tool(record({ name: `Card ${number}`, message: `$1.00 on ${number}` }))))
    expect(text).toContain('masked')
    expect(text).not.toContain(number)
  })

  it('is bounded, and marks whether something was cut', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => {
      const note = `$${at}.00 for ${'long '.repeat(200)}`
      return record({ name: `Name ${at} `.repeat(100), amount: at + 1, note, status: `s${at}` })
    })
    const read = readOf(tool(many))
    expect(read.isCut).toBe(true)
    expect(JSON.stringify(read).length).toBeLessThan(100_000)
    expect(readOf(tool(order)).isCut).toBe(false)
  })

  it('accepts any answer of an endpoint', () => {
    let deep: unknown = { name: 'x', amount: 1 }
    for (let depth = 0; depth < 1_000; depth++) deep = { deep }
    const bodies = [
      '',
      '{',
      'null',
      '[]',
      '[null]',
      '{"data":[null,1,"x",[]]}',
      '{"data":{"attributes":[1]}}',
      tool(deep),
    ]
    for (const body of bodies) expect(() => readOf(body)).not.toThrow()
    expect(readOf('')).toEqual(nothingRead)
  })
})
