import { honestShops } from './honest-shops.ts'
import { hostileShops } from './hostile-shops.ts'
import type { ShopDefinition } from './shops.ts'

/** The built-in shops by their purpose, such as `sold-out`. Buyers never see the purpose of a shop. */
export const ownShops: Readonly<Record<string, ShopDefinition>> = { ...honestShops, ...hostileShops }

/** Finds a built-in shop by its purpose or its id. */
export function ownShop(name: string): ShopDefinition | undefined {
  return Object.hasOwn(ownShops, name) ? ownShops[name] : Object.values(ownShops).find(({ id }) => id === name)
}
