import { honestShops } from './honest-shops.ts'
import { hostileShops } from './hostile-shops.ts'
import type { ShopDefinition } from './shops.ts'

/** The shops of the package. Each key is the purpose of a shop, which a buyer never sees. */
export const ownShops: Readonly<Record<string, ShopDefinition>> = { ...honestShops, ...hostileShops }

/** Finds a shop of the package by its purpose or its id. */
export function ownShop(name: string): ShopDefinition | undefined {
  return Object.hasOwn(ownShops, name) ? ownShops[name] : Object.values(ownShops).find(({ id }) => id === name)
}
