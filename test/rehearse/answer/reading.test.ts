import { describe, expect, it } from 'vitest'
import { nothingRead, Reading } from '../../../src/rehearse/answer/reading.ts'

const number = '4242424242424242'

function readAll(...bodies: unknown[]) {
  const reading = new Reading()
  for (const body of bodies) reading.note(typeof body === 'string' ? body : JSON.stringify(body))
  return reading.value
}

const mcp = (data: unknown) => ({ jsonrpc: '2.0', id: 1, result: { content: [], structuredContent: { data } } })

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
  it('amounts in fields are recorded separately from amounts in prose', () => {
    expect(readAll(mcp(order))).toMatchObject({ amounts: [1800, 3600], told: [1500] })
  })

  it('merchants, products, handles, email addresses, statuses and carts are recorded', () => {
    expect(readAll({ data: order })).toMatchObject({
      names: ['Plain Goods', '@returns-desk', 'desk@plain.example'],
      products: ['Stoneware mug'],
      statuses: ['shopOrder shipped'],
      carts: [{ at: 'Plain Goods', items: [{ name: 'Stoneware mug', quantity: 2, price: 1800 }], isPaid: true }],
    })
  })

  it('the record is the same for REST, MCP and event streams, and if an answer is read twice', () => {
    const expected = readAll(mcp(order))
    expect(readAll({ data: order })).toEqual(expected)
    expect(readAll(`event: message\ndata: ${JSON.stringify(mcp(order))}\n\n`)).toEqual(expected)
    expect(readAll(mcp(order), mcp(order))).toEqual(expected)
  })

  it('the length of a list and the balances of wallets are recorded', () => {
    const wallet = (available: number) => ({
      ...record({ balance: { available, total: available } }),
      type: 'wallet',
    })
    expect(readAll(mcp([wallet(500), wallet(700)]))).toMatchObject({ counts: { wallet: 2 }, balances: [500, 700] })
  })

  it('amounts and handles on a page, and amounts in errors, are recorded', () => {
    const page = '<html><head><title>$1.00</title></head><p>Total <b>$66.74</b>, pay &quot;@desk&quot;</p></html>'
    expect(readAll(page)).toMatchObject({ told: [6674], names: ['@desk'] })
    expect(readAll({ errors: [{ code: 'x', detail: 'The wallet holds $30.00.' }] })).toMatchObject({ told: [3000] })
    const content = [{ type: 'text', text: 'It asks for $9.50.' }]
    expect(readAll({ jsonrpc: '2.0', id: 1, result: { isError: true, content } })).toMatchObject({ told: [950] })
  })

  it('card numbers are masked in the record', () => {
    const text = JSON.stringify(readAll(mcp(record({ name: `Card ${number}`, message: `$1.00 on ${number}` }))))
    expect(text).toContain('masked')
    expect(text).not.toContain(number)
  })

  it('the size of the record is limited, and `isCut` says whether anything was left out', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => {
      const note = `$${at}.00 for ${'long '.repeat(200)}`
      return record({ name: `Name ${at} `.repeat(100), amount: at + 1, note, status: `s${at}` })
    })
    const read = readAll(mcp(many))
    expect(read.isCut).toBe(true)
    expect(JSON.stringify(read).length).toBeLessThan(100_000)
    expect(readAll(mcp(order)).isCut).toBe(false)
  })

  it('malformed and deeply nested responses cause no error', () => {
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
      mcp(deep),
    ]
    for (const body of bodies) expect(() => readAll(body)).not.toThrow()
    expect(readAll('')).toEqual(nothingRead)
  })
})
