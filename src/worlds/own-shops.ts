import { honestShops } from './honest-shops.ts'
import { hostileShops } from './hostile-shops.ts'
import type { ShopDefinition } from './shops.ts'

/** The shops of the package by the names that world files call them by. What a buyer sees of them is their own id and name. */
export const ownShops: Readonly<Record<string, ShopDefinition>> = { ...honestShops, ...hostileShops }
