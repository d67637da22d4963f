import type { Sandbox } from './sandbox.ts'

/** Some of everything that a party ever does, which is cloned until there is much of it. Nothing of it is left open. */
export async function liveOnce(sandbox: Sandbox): Promise<void> {
  const { partyId, agentId } = await whoami(sandbox)
  const post = (path: string, attributes?: object) => send(sandbox, 'POST', path, attributes, sandbox.apiKey)
  const asAgent = (path: string, attributes?: object) => send(sandbox, 'POST', path, attributes, sandbox.key)
  const { id: customerId } = (await send(sandbox, 'GET', '/customers')).data[0]
  const { id: sourceWalletId } = (await send(sandbox, 'GET', '/wallets', undefined, sandbox.apiKey)).data[0]
  const { id: destWalletId } = (await post('/wallets', { displayName: 'Savings' })).data
  for (const name of ['Clerk', 'Buyer']) await post('/agents', { name, walletId: destWalletId })
  await post('/api-keys', { name: 'Spare', scopes: [] })
  for (let count = 0; count < 3; count++) {
    await post(`/simulations/customers/${partyId}/transfers/deposit`, { amount: 100_000 })
  }
  for (let count = 0; count < 20; count++) await purchase(asAgent, count)
  for (let count = 0; count < 8; count++) {
    const counterparty = { type: 'party_id', value: customerId }
    await asAgent('/payments', { amount: 100 + count, currency: 'USD', counterparty, description: 'A share' })
  }
  await asAgent('/wire', { amount: 1000, currency: 'USD', beneficiary })
  await post('/transfers/internal', { amount: 10, sourceWalletId, destWalletId })
  const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
  for (let count = 0; count < 2; count++) {
    const { id } = (await asAgent('/subscriptions', terms)).data
    await asAgent(`/simulations/subscriptions/${id}/checkout`, { card: 'approves' })
    await asAgent(`/subscriptions/${id}/cancel`, {})
  }
  const permissions = ['payments.read']
  const recipients = [{ type: 'email', value: 'somebody@sandbox.example' }]
  const invited = await post('/customers/invitations', { recipients, agents: [{ agentId, permissions }] })
  const invitationId = [invited.data].flat()[0].id
  await send(sandbox, 'DELETE', `/customers/invitations/${invitationId}`, undefined, sandbox.apiKey)
  const link = await post('/customers/invitation-links', { name: 'Anyone', proposedAgents: [{ agentId, permissions }] })
  await post(`/customers/invitation-links/${link.data.id}/revoke`)
}

type Post = (path: string, attributes?: object) => ReturnType<typeof send>

/** Most are captured; some are refunded, reversed or declined. */
async function purchase(post: Post, count: number): Promise<void> {
  const usd = { currency: 'USD', merchant: { name: 'Books' } }
  const card = (await post('/agent-cards', { ...usd, maximumAmount: 1000 })).data
  const amount = count % 10 === 9 ? 2000 : 500
  const { data } = await post(`/simulations/agent-cards/${card.id}/authorize`, { ...usd, amount })
  const path = `/simulations/card-transactions/${data.id}`
  if (data.attributes.status !== 'authorized') return
  if (count % 10 === 8) await post(`${path}/reverse`, {})
  else await post(`${path}/capture`, { amount, currency: 'USD' })
  if (count % 10 === 7) await post(`${path}/refund`, { amount, currency: 'USD' })
}

const address = { line1: '1 Main Street', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' }
const beneficiary = { name: 'A supplier', accountNumber: '000123456789', routingNumber: '021000021', address }

export async function whoami(sandbox: Sandbox): Promise<{ partyId: string; agentId: string }> {
  return (await send(sandbox, 'GET', '/whoami')).data.attributes
}

/** Sends a request and reads its answer. @throws what was refused. */
export async function send(
  sandbox: Sandbox,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  attributes?: object,
  key?: string,
  // biome-ignore lint/suspicious/noExplicitAny: answers of many kinds are read by name.
): Promise<any> {
  const response = await sandbox.service.fetch(sandbox.request(method, path, attributes, key))
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text)
}
