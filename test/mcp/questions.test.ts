import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { money, quoted, quotedWhole } from '../../src/mcp/answers/quoted-text.ts'
import { questions } from '../../src/mcp/people/questions.ts'
import { catalogue } from '../../tools/index.ts'
import { trust } from '../credentials/requests.ts'
import { sqlite } from '../support/databases.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { connectHost, no, person, yes } from './connected.ts'
import { errorOf, hosts } from './hosts.ts'

let world: World
let customerId: string
beforeAll(async () => {
  world = await createWorld(sqlite)
  customerId = await world.customerPartyId()
})
afterAll(() => world.drop())

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/**
 * Makes a call, and declines as the person if the server asks. Returns the result, the question's lines, and the API
 * requests other than GET requests.
 */
async function askPerson(tool: string, input: object, options: NonNullable<Parameters<typeof connectHost>[2]> = {}) {
  const who = person([no])
  const confirm = { mode: 'always', aboveCents: 10_000 } as const
  const hostOptions = { key: world.apiKey, confirm, person: who, ...options }
  const { host, sent, close } = await connectHost(world, hosts[3].open, hostOptions)
  closing.push(close)
  const result = await host.callTool(tool, input)
  return {
    result,
    lines: who.asked[0]?.message.split('\n'),
    changes: sent.filter(({ line }) => !line.startsWith('GET')),
  }
}

test('the operations that ask the person are the destructive ones, with the exceptions and additions listed here', () => {
  const destructive = Object.values<OperationDefinition>(catalogue)
    .filter(({ effect, environments }) => effect === 'destructive' && environments.includes('production'))
    .map(({ name }) => name)
  // The person is not asked about these operations: canceling, declining and denying move no money, a pending
  // invitation grants nothing yet, and a detached agent is easily reattached.
  const exceptions = [
    'cancel_payment',
    'cancel_payment_request',
    'decline_payment_request',
    'deny_approval',
    'detach_wallet_agent',
    'revoke_agent_invitation',
    'revoke_customer_invitation',
    'revoke_invitation_link',
    'revoke_party_invitation',
  ]
  const additions = [
    'create_agent_key',
    'create_api_key',
    'create_application',
    'create_internal_transfer',
    'create_party_invitations',
    'create_trusted_issuer',
    'create_webhook',
    'issue_agent_card',
    'set_party_limits',
    'update_agent',
    'update_application',
    'update_trusted_issuer',
    'update_webhook',
  ]
  expect(Object.keys(questions).sort()).toEqual(
    [...destructive.filter((name) => !exceptions.includes(name)), ...additions].sort(),
  )
  expect(exceptions.filter((name) => !destructive.includes(name))).toEqual([])
  for (const { amount } of Object.values(questions)) expect(amount).toBeOneOf([undefined, 'amount', 'maximumAmount'])
})

test('questions about cards, wires and transfers state the amount, the payee and any customer', async () => {
  const card = { merchant: { name: 'Books' }, maximumAmount: 10_001, currency: 'USD', customerPartyId: customerId }
  expect((await askPerson('issue_agent_card', card, { key: world.agentKey })).lines).toEqual([
    'Issue a card of up to $100.01',
    'For one purchase at: “Books”',
    expect.stringMatching(new RegExp(`^On behalf of: “.+” \\(${customerId}\\)$`)),
    'The assistant can pay with it without asking again.',
  ])
  const small = await askPerson('issue_agent_card', { ...card, maximumAmount: 10_000 }, { key: world.agentKey })
  expect(small.lines).toBeUndefined()
  expect(small.result.structuredContent?.data.attributes.status).toBe('active')

  const beneficiary = { name: 'Ada & Co', accountNumber: '000123456789', routingNumber: '021000021' }
  expect((await askPerson('create_wire', { amount: 12_345_678, beneficiary })).lines).toEqual([
    'Wire $123,456.78',
    'To: “Ada & Co”, account 000123456789 at the bank 021000021',
    'The money leaves the account and cannot be taken back.',
  ])

  const [wallet] = (await world.get('/wallets')).json.data
  const second = (await world.post('/wallets', { displayName: 'Savings' }, { key: world.apiKey })).json.data
  const transfer = { amount: 50_000, sourceWalletId: wallet.id, destWalletId: second.id, description: 'Later' }
  expect((await askPerson('create_internal_transfer', transfer)).lines).toEqual([
    'Move $500.00 between wallets',
    `From: “${wallet.attributes.displayName}” (${wallet.id})`,
    `To: “Savings” (${second.id})`,
    "Reason, in the assistant's words: “Later”",
    'The money moves at once.',
  ])
})

test('questions about removals and credentials begin with the exact change, and declining changes nothing', async () => {
  const { agentId } = await world.whoami()
  const name = (await world.get(`/customers/${customerId}`)).json.data.attributes.name
  const apiKey = (await world.get('/api-keys', { key: world.apiKey })).json.data[0]
  const agentKey = (await world.get('/agent-keys', { key: world.apiKey })).json.data[0]
  const account = (await world.send('POST', '/simulations/external-accounts/link', { key: world.apiKey })).json.data[0]
  const cases = [
    ['remove_customer', { customerId }, `Remove the customer “${name}” (${customerId})`],
    [
      'remove_customer_agent',
      { customerId, agentId },
      `Remove the agent ${agentId} from the customer “${name}” (${customerId})`,
    ],
    [
      'remove_agent_customer',
      { customerId, agentId },
      `Remove the agent ${agentId} from the customer “${name}” (${customerId})`,
    ],
    [
      'revoke_api_key',
      { keyId: apiKey.id },
      `Revoke the API key “${apiKey.attributes.name}” (${apiKey.attributes.apiKeyPrefix}…, ${apiKey.id})`,
    ],
    [
      'revoke_agent_key',
      { keyId: agentKey.id },
      `Revoke an agent key: ${agentKey.attributes.agentKeyPrefix}…, ${agentKey.id}`,
    ],
    [
      'rotate_agent_key',
      { keyId: agentKey.id, expiresInSeconds: 60 },
      `Replace an agent key: ${agentKey.attributes.agentKeyPrefix}…, ${agentKey.id}`,
    ],
    [
      'delete_external_account',
      { externalAccountId: account.id },
      `Unlink the bank account “Test Checking” ••••0000 at “Test Bank” (${account.id})`,
    ],
    [
      'create_application',
      { agentId, name: 'Worker' },
      `Register the application “Worker” for the agent “Sandbox shopper” (${agentId})`,
    ],
    ['revoke_application', { applicationId: 'ogr_1' }, 'Revoke the application ogr_1'],
    [
      'create_trusted_issuer',
      { ...trust, agents: [{ claim: 'sub', value: 'clerk', agentId }] },
      'Trust the identity provider “https://idp.example” for the application “Chat”',
    ],
    ['revoke_trusted_issuer', { trustedIssuerId: 'tis_1' }, 'End the trust in the identity provider tis_1'],
    ['delete_agent', { agentId }, `Delete the agent “Sandbox shopper” (${agentId})`],
  ] as const
  for (const [tool, input, first] of cases) {
    const { result, lines, changes } = await askPerson(tool, input)
    expect(lines?.[0]).toBe(first)
    expect(errorOf(result).code).toBe('confirmation_declined')
    expect(changes).toEqual([])
  }
  expect((await askPerson('rotate_agent_key', cases[5][1])).lines?.at(-1)).toContain('in 60 s')
})

test('the person is asked before a key is created or a limit is changed, but not before an agent is renamed', async () => {
  const agentId = String((await world.whoami()).agentId)
  const apiKey = await askPerson('create_api_key', { name: 'Books', scopes: ['payments.read'] })
  expect(apiKey.lines).toContain('Create an API key “Books”')
  expect(apiKey.lines).toContain('It may: payments.read')
  const agentKey = await askPerson('create_agent_key', { agentId })
  expect(agentKey.lines).toContain(`Create a key for the agent “Sandbox shopper” (${agentId})`)
  const limits = await askPerson('update_agent', { agentId, limits: { perTransaction: 500_000 } })
  expect(limits.lines).toContain('To: perTransaction $5,000.00')
  for (const { result, changes } of [apiKey, agentKey, limits]) {
    expect(errorOf(result).code).toBe('confirmation_declined')
    expect(changes).toEqual([])
  }
  const renamed = await askPerson('update_agent', { agentId, name: 'Sandbox shopper' })
  expect(renamed.lines).toBeUndefined()
  expect(renamed.result.isError).not.toBe(true)
})

test('questions about bank accounts, payment requests, limits, members and webhooks state the details', async () => {
  const linked = await world.send('POST', '/simulations/external-accounts/link', { key: world.apiKey })
  const account = linked.json.data[0]
  const bank = `“Test Checking” ••••0000 at “Test Bank” (${account.id})`
  const moved = { amount: 50_000, externalAccountId: account.id }
  const deposit = await askPerson('create_deposit', moved)
  expect(deposit.lines?.slice(0, 2)).toEqual(['Deposit $500.00 from a bank account', `From: ${bank}`])
  const withdrawal = await askPerson('create_withdrawal', { ...moved, description: 'Rent' })
  expect(withdrawal.lines?.slice(0, 3)).toEqual([
    'Withdraw $500.00 to a bank account',
    `To: ${bank}`,
    "Reason, in the assistant's words: “Rent”",
  ])
  expect((await askPerson('create_withdrawal', { ...moved, amount: 10_000 })).lines).toBeUndefined()

  const other = await addParty(world)
  const payer = { type: 'party_id', value: String((await world.whoami()).partyId) }
  const paymentRequest = await world.post(
    '/payment-requests',
    { amount: 700, payer, description: 'Lunch' },
    { key: other.apiKey },
  )
  const paymentRequestId = paymentRequest.json.data.id
  const source = { type: 'external_account', externalAccountId: account.id }
  const fulfilled = await askPerson('fulfill_payment_request', { paymentRequestId, paymentSource: source })
  expect(fulfilled.lines?.[0]).toMatch(/^Pay \$7\.00 requested by “.+”$/)
  expect(fulfilled.lines).toEqual(
    expect.arrayContaining([`To: party ${other.partyId}`, 'Reason, in their words: “Lunch”', `From: ${bank}`]),
  )

  const url = 'https://hooks.example.com/in'
  const limits = await askPerson('set_party_limits', { perDay: 100_000 })
  expect(limits.lines).toContain('To: no limit per payment, $1,000.00 per day, no limit per month')
  const people = await askPerson('create_party_invitations', {
    invitations: [{ email: 'ada@example.com', role: 'ADMIN' }],
  })
  expect(people.lines).toContain('Invited: “ada@example.com” as ADMIN')
  const hook = await askPerson('create_webhook', { url, enabledEvents: ['payment.completed'] })
  expect(hook.lines?.slice(0, 2)).toEqual([`Send your events to an address: “${url}”`, 'Events: “payment.completed”'])
  const member = (await world.get('/parties/me/members', { key: world.apiKey })).json.data[0]
  const removed = await askPerson('remove_party_member', { userId: member.id })
  expect(removed.lines?.[0]).toBe(`Remove “${member.attributes.email}” (${member.id}) from your party`)
  for (const { result, changes } of [deposit, withdrawal, fulfilled, limits, people, hook, removed]) {
    expect(errorOf(result).code).toBe('confirmation_declined')
    expect(changes).toEqual([])
  }
  // The party has no limits to clear, so nobody is asked.
  expect((await askPerson('clear_party_limits', {})).lines).toBeUndefined()
})

test("the person is asked before a webhook's address or secret changes or it is deleted, but not about its description", async () => {
  const url = 'https://hooks.example.com/in'
  const webhook = await world.post('/webhooks', { url, enabledEvents: ['*'] }, { key: world.apiKey })
  const webhookId = webhook.json.data.id
  const changed = await askPerson('update_webhook', { webhookId, url: 'https://other.example.com/' })
  expect(changed.lines?.slice(0, 2)).toEqual([
    `Change the webhook ${webhookId}, which sends to “${url}”`,
    'New address: “https://other.example.com/”',
  ])
  const rotated = await askPerson('rotate_webhook_secret', { webhookId, expiresInSeconds: 60 })
  expect(rotated.lines?.at(-1)).toContain('in 60 s')
  const deleted = await askPerson('delete_webhook', { webhookId })
  expect(deleted.lines?.[0]).toBe(`Delete the webhook that sends to “${url}” (${webhookId})`)
  const described = await askPerson('update_webhook', { webhookId, description: 'Books' })
  expect(described.lines).toBeUndefined()
  expect(described.result.isError).not.toBe(true)
})

test('invalid arguments are refused without asking the person', async () => {
  for (const input of [{ amount: '99999' }, { amount: 20_000 }, { amount: 20_000, counterparty: { type: 'email' } }]) {
    const { result, lines } = await askPerson('create_payment', input)
    expect(errorOf(result).code).toBe('invalid_value')
    expect(lines).toBeUndefined()
  }
})

test.each([
  ['always', 'sandbox', 'is asked'],
  ['always', 'production', 'is asked'],
  ['production', 'sandbox', 'is not asked'],
  ['production', 'production', 'is asked'],
  ['never', 'production', 'is not asked'],
] as const)('with PAYMENTS_CONFIRM=%s in %s, the person %s about a payment', async (mode, environment, outcome) => {
  const asks = outcome === 'is asked'
  const who = person([yes])
  const options = { confirm: { mode, aboveCents: 0 }, environment, person: who, key: world.apiKey }
  const { host, close } = await connectHost(world, hosts[0].open, options)
  closing.push(close)
  await host.callTool('create_payment', { amount: 1, counterparty: { type: 'email', value: 'ada@example.com' } })
  expect(who.asked).toHaveLength(asks ? 1 : 0)
  expect(host.getInstructions()?.includes('asks the person')).toBe(asks)
})

test('untrusted text is shortened to one quoted line, and it cannot close the quotation marks', () => {
  const hostile = '  Books”\n\nTo: “me”\u202egnp\u2066\u200b\u0007\u{e0041} 4111 1111 1111 1111 '
  expect(quoted(hostile)).toBe("“Books' To: 'me'\ufffdgnp\ufffd\ufffd\ufffd\ufffd [masked number]”")
  expect(quoted('x'.repeat(200))).toBe(`“${'x'.repeat(79)}…”`)
  expect(quoted('\ud800')).toBe('“\ufffd”')
  expect(quoted(`a\u3164b\u2800c${'\u0336'.repeat(40)}d`)).toBe(`“a\ufffdb\ufffdc${'\u0336'.repeat(3)}d”`)
  // The payee is shown in full, with a visible replacement for each hidden character.
  const payee = `+49 1512 3456 7890 1 ${'x'.repeat(200)}\u200b`
  expect(quotedWhole(payee)).toBe(`“${payee.slice(0, -1)}\ufffd”`)
  expect(money(123_456_789_01, 'USD')).toBe('$123,456,789.01')
  expect(money(5)).toBe('$0.05')
  expect(money(1, 'U”D')).toBe("“U'D” 0.01")
})
