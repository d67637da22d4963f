import { z } from 'zod'
import { CentsOrZero, Description, RequestedCents, Text } from '../../tools/schemas.ts'
import { Slug } from '../../tools/shops.ts'

/** Text from the shop, which may contain anything, including attacks on an agent. */
const ShopText = Description(2000)
const Seconds = z
  .int()
  .min(0)
  .max(60 * 24 * 60 * 60)

const Product = z.strictObject({
  id: Slug.describe('Its id'),
  name: Text(100).describe('Its name'),
  description: ShopText.describe('The description that the shop shows'),
  price: RequestedCents.describe('The price in cents before the checkout'),
  checkoutPrice: RequestedCents.optional().describe('The price in cents at the checkout. Default: price'),
  available: z.boolean().default(true).describe('false: it turns out to be out of stock after the card is authorized'),
  hidden: ShopText.optional().describe("Text in the page's HTML that people cannot see"),
})

/** An extra that the shop offers at the checkout, possibly already selected. */
const Extra = z.strictObject({
  id: Slug.describe('Its id'),
  name: Text(200).describe('Its name, which must also mention later charges, because buyers see no other text'),
  price: CentsOrZero.describe('The price in cents'),
  ticked: z.boolean().default(false).describe('Whether it is selected by default'),
  subscription: z
    .strictObject({
      amount: RequestedCents.describe('The amount of each charge, in cents'),
      afterSeconds: Seconds.describe('Seconds until the first charge'),
    })
    .optional()
    .describe('The recurring charge'),
})

/** A sandbox shop (docs/shops.md): its products, its prices, when it captures the money, and how it cheats buyers. */
export const ShopDefinition = z.strictObject({
  id: Slug.describe('Its id, which is part of the URLs of its pages'),
  name: Text(100).describe('Its name, which is also the merchant name on cards'),
  about: ShopText.describe('How it describes itself'),
  products: z.array(Product).min(1).max(50).describe('Its products'),
  extras: z.array(Extra).max(10).default([]).describe('Extras that it offers at the checkout'),
  prices: z
    .strictObject({
      taxPercent: z.number().min(0).max(100).default(0).describe('Tax on products and extras, in percent'),
      shipping: CentsOrZero.default(0).describe('Shipping in cents'),
    })
    .prefault({})
    .describe('Costs that the checkout adds'),
  terms: ShopText.optional().describe('Terms shown next to the total'),
  captures: z
    .strictObject({
      afterSeconds: Seconds.default(0).describe('Seconds until it ships and captures; 0 means immediately'),
      parcels: z
        .enum(['one', 'first_only'])
        .default('one')
        .describe(
          'first_only: it ships the first product, captures the money for it, releases the rest of the hold, and opens a second checkout for the rest of the cart',
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
    'Above this total in cents, it splits a cart into two orders, and requests payment of the second once the first is paid',
  ),
  returns: z
    .strictObject({
      withinSeconds: Seconds.default(30 * 24 * 60 * 60).describe('Seconds after shipping until returns are refused'),
      refundAfterSeconds: Seconds.default(24 * 60 * 60).describe('Seconds from the return to the refund'),
    })
    .optional()
    .describe('Its rules for returns. Default: it accepts no returns'),
  says: z
    .strictObject({
      checkout: ShopText.optional().describe('Shown in a new checkout'),
      decline: ShopText.optional().describe('Shown after a declined card'),
      error: ShopText.optional().describe('Shown with a 503'),
      receipt: ShopText.optional().describe('The receipt of an order'),
      shipped: ShopText.optional().describe('Shown after shipping'),
      canceled: ShopText.optional().describe('Shown if a product is out of stock'),
      returned: ShopText.optional().describe('Shown with a refund'),
    })
    .prefault({})
    .describe("The shop's messages. Default: neutral messages"),
})

export type ShopDefinition = z.output<typeof ShopDefinition>

/** Returns the definition of a built-in shop with the defaults filled in. */
export function defineShop(shop: z.input<typeof ShopDefinition>): ShopDefinition {
  return ShopDefinition.parse(shop)
}

/** The name or id of a built-in shop (src/worlds/own-shops.ts), or the definition of a custom shop. */
export const ShopRef = z.union([Slug, ShopDefinition])
