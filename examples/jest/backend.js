import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

/**
 * Creates a backend that buys a ticket for each POST of {id, price, budget}. The price and the budget are in cents. The
 * backend answers 201 if it has paid, 402 if the card is declined, and 502 if the purchase fails for any other reason.
 */
export function createBackend(payments) {
  return createServer(async (request, response) => {
    const answer = (status, body) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    try {
      const { status, decline } = await buy(payments, await json(request))
      answer(status === 'declined' ? 402 : 201, { status, reason: decline?.code })
    } catch (error) {
      answer(502, { reason: error.message })
    }
  })
}

/** Issues a card for one ticket and pays with it. */
async function buy(payments, { id, price, budget }) {
  const ticket = { currency: 'USD', merchant: { name: 'Example Theatre' } }
  const card = await post(payments, '/agent-cards', `${id} card`, { ...ticket, maximumAmount: budget })
  // In the sandbox, this program also simulates the merchant's charge.
  const charge = `/simulations/agent-cards/${card.id}/authorize`
  return (await post(payments, charge, `${id} payment`, { ...ticket, amount: price })).attributes
}

/**
 * Sends a request, and retries it with the same idempotency key if no answer comes or the API fails. A request that was
 * already carried out is not carried out again: the retry gets the first answer.
 */
async function post({ url, key }, path, idempotencyKey, attributes) {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': idempotencyKey,
    'X-Instance-ID': 'ticket office',
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
