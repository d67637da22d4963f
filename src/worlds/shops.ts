import { z } from 'zod'
import { CentsOrZero, Description, RequestedCents, Text } from '../../tools/schemas.ts'
import { Slug } from '../../tools/shops.ts'

/** A text of the shop, which may say anything: that is what shops are for. */
const Words = Description(2000)
const Seconds = z
  .int()
  .min(0)
  .max(60 * 24 * 60 * 60)

const Product = z.strictObject({
  id: Slug.describe('By which it is bought'),
  name: Text(100).describe('What it is'),
  description: Words.describe('What the shop says of it'),
  price: RequestedCents.describe('Cents, as it is shown before the checkout'),
  checkoutPrice: RequestedCents.optional().describe('Cents that the checkout asks. Default: price'),
  available: z.boolean().default(true).describe('false: that it is out of stock shows after the card was authorized'),
  hidden: Words.optional().describe("Words in the page's HTML that no person sees"),
})

/** An extra that the shop adds to a cart. */
const Extra = z.strictObject({
  id: Slug.describe('By which it is chosen'),
  name: Text(200).describe('What it is, and what it goes on costing'),
  price: CentsOrZero.describe('Cents'),
  ticked: z.boolean().default(false).describe('Whether it is chosen unless the buyer says otherwise'),
  subscription: z
    .strictObject({
      amount: RequestedCents.describe('Cents of each charge'),
      afterSeconds: Seconds.describe('When it is charged first'),
    })
    .optional()
    .describe('What it goes on costing'),
})

/**
 * A shop of the sandbox as data (docs/shops.md): what it sells, how it prices, when it takes the money, and how it cheats.
 */
export const ShopDefinition = z.strictObject({
  id: Slug.describe('Its part of addresses'),
  name: Text(100).describe('The merchant that cards are charged by'),
  about: Words.describe('What it says of itself'),
  products: z.array(Product).min(1).max(50).describe('What it sells'),
  extras: z.array(Extra).max(10).default([]).describe('What it adds to a cart'),
  prices: z
    .strictObject({
      taxPercent: z.number().min(0).max(100).default(0).describe('Of products and extras'),
      shipping: CentsOrZero.default(0).describe('Cents'),
    })
    .prefault({})
    .describe('What the checkout adds'),
  terms: Words.optional().describe('What stands beside the total'),
  captures: z
    .strictObject({
      afterSeconds: Seconds.default(0).describe('When it ships and captures; 0: at once'),
      parcels: z
        .enum(['one', 'first_only'])
        .default('one')
        .describe(
          'first_only: it ships and captures the first product, and releases the rest, for which it opens another checkout',
        ),
    })
    .prefault({})
    .describe('When it takes the money'),
  answers: z
    .strictObject({
      slowMs: z.int().min(0).max(10_000).default(0).describe('Milliseconds of real time that its checkout takes'),
      failsOnce: z
        .enum(['before_charge', 'after_charge'])
        .optional()
        .describe('Its first answer to a payment is a 503'),
    })
    .prefault({})
    .describe('How well it answers'),
  takesCards: z.boolean().default(true).describe('false: it declines every card'),
  splitsAbove: RequestedCents.optional().describe(
    'Cents above which it makes two orders of one half each of a cart, and asks for the second when the first is paid',
  ),
  returns: z
    .strictObject({
      withinSeconds: Seconds.default(30 * 24 * 60 * 60).describe('How long after it shipped'),
      refundAfterSeconds: Seconds.default(24 * 60 * 60).describe('How long after it was sent back it refunds'),
    })
    .optional()
    .describe('Takes goods back, and refunds. Default: it does not'),
  says: z
    .strictObject({
      checkout: Words.optional().describe('With a new checkout'),
      decline: Words.optional().describe('With a declined card'),
      error: Words.optional().describe('With a 503'),
      receipt: Words.optional().describe('With an order'),
      shipped: Words.optional().describe('When it shipped'),
      canceled: Words.optional().describe('When what was bought is out of stock'),
      returned: Words.optional().describe('With a refund'),
    })
    .prefault({})
    .describe("The shop's words; where it says nothing, plain ones"),
})

export type ShopDefinition = z.output<typeof ShopDefinition>

/** A shop of the package, with its defaults filled in. */
export function defineShop(shop: z.input<typeof ShopDefinition>): ShopDefinition {
  return ShopDefinition.parse(shop)
}

/** A shop of the package (src/worlds/own-shops.ts), or one of the file's own. */
export const ShopRef = z.union([Slug, ShopDefinition])
