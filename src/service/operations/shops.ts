import type { shops } from '../../../tools/shops.ts'
import type { HandlersOf } from '../request/handler.ts'

const unbuilt = (): never => {
  throw new Error('Bug: shops are not built yet.')
}

export const shopHandlers = {
  listShops: unbuilt,
  getShop: unbuilt,
  startShopCheckout: unbuilt,
  payShopCheckout: unbuilt,
  getShopOrder: unbuilt,
  returnShopOrder: unbuilt,
} satisfies HandlersOf<typeof shops>
