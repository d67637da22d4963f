const mug = { productId: 'stoneware-mug', name: 'Stoneware mug', price: 1_800 } as const

/** A cart at a shop, as examples of answers show it. */
export const exampleCart = {
  shopId: 'plain-goods',
  merchant: { name: 'Plain Goods' },
  status: 'open',
  items: [{ ...mug, quantity: 2 }],
  extras: [],
  subtotal: 3_600,
  total: 3_600,
  terms: null,
  message: null,
  orderId: null,
  url: 'http://127.0.0.1:4010/shops/checkouts/sco_0198a1b2c3d4',
} as const

/** An order that was shipped. */
export const exampleOrder = {
  shopId: 'plain-goods',
  merchant: { name: 'Plain Goods' },
  status: 'shipped',
  items: [{ ...mug, quantity: 2, shipped: 2 }],
  total: 3_600,
  captured: 3_600,
  receipt: 'Thank you for your order.',
  message: 'Your order is on its way.',
  subscription: null,
  nextCheckoutId: null,
  nextTotal: null,
  nextEventAt: null,
} as const

/** A shop in its own words. */
export const exampleShop = {
  name: 'Plain Goods',
  about: 'Everyday things for home and desk.',
  url: 'http://127.0.0.1:4010/shops/plain-goods',
  products: [{ ...mug, description: 'Glazed by hand.' }],
} as const
