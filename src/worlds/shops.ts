import { z } from 'zod'
import { CentsOrZero, Description, RequestedCents, Text } from '../../tools/schemas.ts'
import { Slug } from '../../tools/shops.ts'

/** A text of the shop, which may contain anything, including attacks. */
const Words = Description(2000)
const Seconds = z
  .int()
  .min(0)
  .max(60 * 24 * 60 * 60)

const Product = z.strictObject({
  id: Slug.describe('Its id'),
  name: Text(100).describe('Its name'),
  description: Words.describe('The description that the shop shows'),
  price: RequestedCents.describe('The price in cents before the checkout'),
  checkoutPrice: RequestedCents.optional().describe('The price in cents at the checkout. Default: price'),
  available: z.boolean().default(true).describe('false: it turns out to be out of stock after the card was authorized'),
  hidden: Words.optional().describe("Text in the page's HTML that people cannot see"),
})

/** An extra that the shop adds to a cart. */
const Extra = z.strictObject({
  id: Slug.describe('Its id'),
  name: Text(200).describe('Its name, including later charges'),
  price: CentsOrZero.describe('The price in cents'),
  ticked: z.boolean().default(false).describe('Whether it is selected by default'),
  subscription: z
    .strictObject({
      amount: RequestedCents.describe('Cents of each charge'),
      afterSeconds: Seconds.describe('Seconds until the first charge'),
    })
    .optional()
    .describe('The recurring charge'),
})

/** A sandbox shop as data (docs/shops.md): its products and prices, when it captures the money, and how it cheats. */
export const ShopDefinition = z.strictObject({
  id: Slug.describe('Its id, which is part of addresses'),
  name: Text(100).describe('Its name, which is also the merchant name on cards'),
  about: Words.describe('How it describes itself'),
  products: z.array(Product).min(1).max(50).describe('Its products'),
  extras: z.array(Extra).max(10).default([]).describe('Extras that it adds to a cart'),
  prices: z
    .strictObject({
      taxPercent: z.number().min(0).max(100).default(0).describe('Tax on products and extras, in percent'),
      shipping: CentsOrZero.default(0).describe('Shipping in cents'),
    })
    .prefault({})
    .describe('Costs that the checkout adds'),
  terms: Words.optional().describe('Terms shown next to the total'),
  captures: z
    .strictObject({
      afterSeconds: Seconds.default(0).describe('Seconds until it ships and captures; 0 for immediately'),
      parcels: z
        .enum(['one', 'first_only'])
        .default('one')
        .describe(
          'first_only: it ships and captures the first product, releases the rest, and opens another checkout for the rest',
        ),
    })
    .prefault({})
    .describe('When it captures the money'),
  answers: z
    .strictObject({
      slowMs: z.int().min(0).max(10_000).default(0).describe('Delay of its checkout in milliseconds of real time'),
      failsOnce: z
        .enum(['before_charge', 'after_charge'])
        .optional()
        .describe('Its first answer to a payment is a 503, before or after charging the card'),
    })
    .prefault({})
    .describe('How reliably it answers'),
  takesCards: z.boolean().default(true).describe('false: it declines every card'),
  splitsAbove: RequestedCents.optional().describe(
    'Total in cents above which it splits a cart into two orders, and requests the second after the first is paid',
  ),
  returns: z
    .strictObject({
      withinSeconds: Seconds.default(30 * 24 * 60 * 60).describe('Seconds after shipping in which it accepts returns'),
      refundAfterSeconds: Seconds.default(24 * 60 * 60).describe('Seconds from the return to the refund'),
    })
    .optional()
    .describe('Its returns. Default: none accepted'),
  says: z
    .strictObject({
      checkout: Words.optional().describe('Shown in a new checkout'),
      decline: Words.optional().describe('Shown after a declined card'),
      error: Words.optional().describe('Shown with a 503'),
      receipt: Words.optional().describe('The receipt of an order'),
      shipped: Words.optional().describe('Shown after shipping'),
      canceled: Words.optional().describe('Shown if a product is out of stock'),
      returned: Words.optional().describe('Shown with a refund'),
    })
    .prefault({})
    .describe("The shop's messages. Default: neutral ones"),
})

export type ShopDefinition = z.output<typeof ShopDefinition>

/** Completes the definition of a package shop with the defaults. */
export function defineShop(shop: z.input<typeof ShopDefinition>): ShopDefinition {
  return ShopDefinition.parse(shop)
}

/** The name of a package shop (src/worlds/own-shops.ts), or the definition of a custom one. */
export const ShopRef = z.union([Slug, ShopDefinition])
