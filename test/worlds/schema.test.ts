import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { pathInFile } from '../../src/worlds/fields.ts'
import { worldSchema } from '../../src/worlds/schema.ts'
import { momentMs } from '../../src/worlds/world-times.ts'

/**
 * Returns the validation errors of a world file as `path: message`. In a path, an entry of a map has its name instead
 * of an index.
 */
function mistakes(file: unknown): string[] {
  const { error } = worldSchema.safeParse(file)
  return (error?.issues ?? []).map(({ path, message }) => `${pathInFile(file, path).join('.')}: ${message}`)
}

const acme = (more: object) => ({ parties: { acme: { agents: { shopper: null }, ...more }, ann: { type: 'PERSON' } } })

describe('the schema of world files', () => {
  it('parties can be a map or a list, and omitted fields get defaults', () => {
    const asMap = { parties: { acme: { wallets: { main: { balance: 250_000 } }, agents: { shopper: null } } } }
    const asList = {
      parties: [{ ref: 'acme', wallets: [{ ref: 'main', balance: 250_000 }], agents: [{ ref: 'shopper' }] }],
    }
    expect(worldSchema.parse(asMap)).toEqual(worldSchema.parse(asList))
    expect(worldSchema.parse(asMap)).toEqual({
      rehearsal: false,
      parties: [
        {
          ref: 'acme',
          type: 'ORG',
          issuedCardsEnabled: true,
          wallets: [{ ref: 'main', balance: 250_000, status: 'active', walletType: 'standard' }],
          agents: [{ ref: 'shopper', status: 'ACTIVE' }],
        },
      ],
    })
  })

  it('every field has a description', () => {
    const undescribed: string[] = []
    const visit = (node: z.core.JSONSchema.BaseSchema, path: string) => {
      for (const [name, field] of Object.entries(node.properties ?? {})) {
        if (typeof field === 'boolean') continue
        const inner = field.anyOf?.find((one) => typeof one !== 'boolean' && one.description !== undefined)
        if (field.description === undefined && inner === undefined) undescribed.push(`${path}.${name}`)
        visit(field, `${path}.${name}`)
      }
      const inside = [node.items, ...(node.anyOf ?? []), ...(node.oneOf ?? [])].flat()
      for (const one of inside) if (typeof one === 'object') visit(one, path)
    }
    visit(z.toJSONSchema(worldSchema, { io: 'input', unrepresentable: 'any' }), 'world')
    expect(undescribed).toEqual([])
  })

  it.each<[object, string]>([
    [{ ...acme({}), clok: 1 }, ': Unrecognized key: "clok"'],
    [acme({ wallets: { main: { stauts: 'frozen' } } }), 'parties.acme.wallets.main: Unrecognized key: "stauts"'],
    [{ parties: {} }, 'parties: must contain at least one party'],
    [acme({ id: 'pty_1' }), 'parties.acme.id: must be pty_ and 32 lower-case hexadecimal digits'],
    [
      acme({ createdAt: 'yesterday' }),
      "parties.acme.createdAt: must be a time such as 2026-01-31T09:00:00Z, a day such as 2026-01-31, or an offset from the world's clock such as -3d, +2h or -45m",
    ],
    [
      acme({ wallets: { a: { isDefault: true }, b: { isDefault: true } } }),
      'parties.acme.wallets.b.isDefault: is a second default; only one is allowed',
    ],
    [
      acme({ agents: { shopper: { wallets: { spare: {} } } } }),
      'parties.acme.agents.shopper.wallets.spare.wallet: must be a wallet of the party; known names: none',
    ],
    [
      acme({ agents: { shopper: { slug: 'shop' } } }),
      'parties.acme.agents.shopper.slug: is only allowed if the party has a handle',
    ],
    [
      acme({ agents: { shopper: { createdBy: 'bob' } } }),
      'parties.acme.agents.shopper.createdBy: must be a user of the party; known names: none',
    ],
    [
      acme({ apiKeys: { main: { createdBy: 'bob' } } }),
      'parties.acme.apiKeys.main.createdBy: must be a user of the party; known names: none',
    ],
    [
      acme({ agents: { shopper: { revokedAt: '-1d' } } }),
      'parties.acme.agents.shopper.revokedAt: is only allowed with status REVOKED',
    ],
    [
      acme({ customers: { bob: { agent: 'shopper' } } }),
      'parties.acme.customers.bob.customer: must be another party; known names: acme, ann',
    ],
    [
      acme({
        customers: [
          { customer: 'ann', agent: 'shopper' },
          { customer: 'ann', agent: 'shopper' },
        ],
      }),
      'parties.acme.customers.1: is a duplicate: a customer can give an agent only one grant',
    ],
    [
      acme({ customers: { ann: { agent: 'shopper', revokedAt: '-1d' } } }),
      'parties.acme.customers.ann.revokedAt: is only allowed with a status other than ACTIVE',
    ],
    [
      acme({ invitations: [{ to: 'acme', agent: 'shopper' }] }),
      'parties.acme.invitations.0.to: must be another party, an email address or a phone number; known names: acme, ann',
    ],
    [
      acme({ invitations: [{ to: 'x@y.example', agent: 'shopper', status: 'ACCEPTED' }] }),
      'parties.acme.invitations.0.to: must be a party in this file, because the invitation is ACCEPTED',
    ],
    [
      acme({ invitations: [{ to: 'ann', agent: 'shopper', cancelReason: 'AGENT_RETIRED' }] }),
      'parties.acme.invitations.0.cancelReason: is only allowed with status CANCELED',
    ],
    [
      acme({ invitations: [{ to: 'ann', agent: 'shopper', endedAt: '-1d' }] }),
      'parties.acme.invitations.0.endedAt: is only allowed with status ACCEPTED, DECLINED or CANCELED',
    ],
    [
      acme({ invitationLinks: [{ name: 'x', proposedAgents: { seller: {} } }] }),
      'parties.acme.invitationLinks.0.proposedAgents.seller.agent: must be an agent of the party; known names: shopper',
    ],
    [
      acme({ cards: [{ agent: 'seller', merchant: 'Books', maximumAmount: 100 }] }),
      'parties.acme.cards.0.agent: must be an agent of the party, or party/agent; known names: shopper',
    ],
    [
      acme({ payments: [{ to: 'bob', amount: 100 }] }),
      'parties.acme.payments.0.to: must be a party, party/agent, email address or phone number; known names: acme, ann',
    ],
    [
      acme({ payments: [{ to: 'acme', amount: 100 }] }),
      'parties.acme.payments.0.to: must be another party, because a party cannot pay itself',
    ],
    [
      acme({ payments: [{ to: 'x@y.example', amount: 100 }] }),
      'parties.acme.payments.0.to: must be a party in this file, because the payment is COMPLETED',
    ],
    [
      acme({ payments: [{ to: 'ann', amount: 100, status: 'PENDING_CLAIM' }] }),
      'parties.acme.payments.0.to: must not be the address of a party in this file, because the payment is PENDING_CLAIM',
    ],
    [
      acme({ payments: [{ to: 'ann', amount: 100, status: 'RETURNED' }] }),
      'parties.acme.payments.0.status: is only allowed for wires, because a payment between parties arrives at once',
    ],
    [
      acme({ payments: [{ to: 'ann', amount: 100, agent: 'shopper', actor: 'user' }] }),
      'parties.acme.payments.0.actor: is only allowed without an agent',
    ],
    [
      acme({ handle: 'a', email: 'a@b.example', users: [{ email: 'A@b.example' }, { email: 'a@b.example' }] }),
      'parties.acme.users.1.email: is already used in this file, and must be unique',
    ],
  ])('the only error reported for %j has the path of the wrong value', (file, mistake) => {
    expect(mistakes(file)).toEqual([mistake])
  })

  it.each<[object, string]>([
    [{ status: 'captured', captured: 50 }, 'captured: is only allowed with status partially_captured'],
    [{ status: 'partially_captured' }, 'captured: is required with status partially_captured'],
    [
      { status: 'partially_captured', captured: 100 },
      'captured: must be less than the amount, 100; if all of it was captured, use status captured',
    ],
    [{ status: 'declined' }, 'decline: is required with status declined'],
    [{ decline: 'insufficient_funds' }, 'decline: is only allowed with status declined'],
    [{ endedAt: '-1d' }, 'endedAt: is only allowed with status captured, partially_captured or reversed'],
    [
      { status: 'captured', refunds: [{ amount: 60 }, { amount: 41 }] },
      'refunds.1.amount: is too much: refunds would exceed the captured amount, 100',
    ],
  ])('a purchase of 100 cents with the fields %j is reported as inconsistent', (fields, mistake) => {
    const purchases = [{ amount: 100, ...fields }]
    const file = acme({ cards: [{ agent: 'shopper', merchant: 'Books', maximumAmount: 100, purchases }] })
    expect(mistakes(file)).toEqual([`parties.acme.cards.0.purchases.0.${mistake}`])
  })

  it('a party can give a card to an agent of another party only if the file contains a grant to that agent', () => {
    const cards = [{ agent: 'acme/shopper', merchant: 'Books', maximumAmount: 100 }]
    const world = (more: object) => ({ parties: { acme: { agents: { shopper: {} }, ...more }, ann: { cards } } })
    expect(mistakes(world({ customers: { ann: { agent: 'shopper' } } }))).toEqual([])
    expect(mistakes(world({}))).toEqual([
      "parties.ann.cards.0.agent: is another party's agent without a grant from this party; add this party to that party's customers",
    ])
  })

  it('the worlds in docs/sandbox.md are valid', () => {
    const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
    const documentedWorlds = [...document.matchAll(/^```yaml\n(parties:\n[\s\S]*?)^```$/gm)].map(
      ([, text]) => text ?? '',
    )
    expect(documentedWorlds.length).toBeGreaterThan(0)
    for (const text of documentedWorlds) expect(mistakes(parse(text))).toEqual([])
  })

  it('a time is a timestamp, a date or an offset from the clock; anything else is invalid', () => {
    const clockMs = Date.UTC(2026, 0, 31, 9)
    expect(momentMs('2026-01-31T09:00:00Z', 0)).toBe(clockMs)
    expect(momentMs('2026-01-31', 0)).toBe(Date.UTC(2026, 0, 31))
    expect(momentMs('-1d', clockMs)).toBe(Date.UTC(2026, 0, 30, 9))
    expect(momentMs('+90m', clockMs)).toBe(Date.UTC(2026, 0, 31, 10, 30))
    for (const text of ['2026-02-31T25:00:00Z', '1d', '-1y', 'now', '']) expect(momentMs(text, 0), text).toBeNaN()
  })
})
