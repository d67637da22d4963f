/** The address of the payments API, an agent key, and the `fetch` to use. */
export interface Payments {
  url: string
  key: string
  fetch: typeof globalThis.fetch
}

/** An order with its price and budget in cents. */
export interface Order {
  id: string
  merchant: string
  price: number
  budget: number
}

export interface Purchase {
  status: 'authorized' | 'declined'
  /** The code of the decline; undefined if the purchase is authorized. */
  reason: string | undefined
}

/** Issues a card for one order and pays with it. */
export async function buy(payments: Payments, { id, merchant, price, budget }: Order): Promise<Purchase> {
  const order = { currency: 'USD', merchant: { name: merchant } }
  const card = await post(payments, '/agent-cards', `${id} card`, { ...order, maximumAmount: budget })
  // In the sandbox, this program also simulates the merchant's charge.
  const charge = `/simulations/agent-cards/${card.id}/authorize`
  const { attributes } = await post(payments, charge, `${id} payment`, { ...order, amount: price })
  return { status: attributes.status, reason: attributes.decline?.code }
}

/**
 * Sends a request, and retries it with the same idempotency key if no answer comes or the API fails. A request that was
 * already carried out is not carried out again: the retry gets the first answer.
 */
async function post({ url, key, fetch }: Payments, path: string, idempotencyKey: string, attributes: object) {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': idempotencyKey,
    'X-Instance-ID': 'buyer',
  }
  const body = JSON.stringify({ data: { attributes } })
  for (let attempt = 1; attempt <= 3; attempt++) {
    const answer = await fetch(url + path, { method: 'POST', headers, body })
      .then(async (response) => ({ status: response.status, json: await response.json() }))
      .catch(() => undefined)
    if (answer !== undefined && answer.status < 300) return answer.json.data
    if (answer !== undefined && answer.status < 500) throw new Error(answer.json.errors[0].detail)
  }
  throw new Error('The payments API is unavailable.')
}
