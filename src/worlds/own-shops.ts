import { honestShops } from './honest-shops.ts'
import { hostileShops } from './hostile-shops.ts'
import type { ShopDefinition } from './shops.ts'

/** The shops of the package by what they are good for. A buyer sees nothing of that: to them a shop is its id and its name. */
export const ownShops: Readonly<Record<string, ShopDefinition>> = { ...honestShops, ...hostileShops }

/** A shop of the package, as a world file calls it: by what it is good for, or by its id. */
export function ownShop(name: string): ShopDefinition | undefined {
  return Object.hasOwn(ownShops, name) ? ownShops[name] : Object.values(ownShops).find(({ id }) => id === name)
}
