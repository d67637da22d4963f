import type { OpenShops } from '../../worlds/open-shops.ts'
import { ownShop, ownShops } from '../../worlds/own-shops.ts'
import type { ShopDefinition } from '../../worlds/shops.ts'
import type { Transaction } from './engine/store.ts'
import { findWorld } from './world.ts'

/**
 * Returns the shops that the world lists, in the order of the list. If the world has no list, returns all built-in
 * shops.
 */
export async function openShops(tx: Transaction): Promise<ShopDefinition[]> {
  const shops = (await findWorld(tx))?.shops ?? null
  if (shops === null) return Object.values(ownShops)
  const refs = JSON.parse(shops) as OpenShops
  return refs.map((ref) => {
    const shop = typeof ref === 'string' ? ownShop(ref) : ref
    if (shop === undefined) throw new Error(`Bug: the world lists the unknown shop ${ref}.`)
    return shop
  })
}

export async function findShop(tx: Transaction, id: string): Promise<ShopDefinition | undefined> {
  return (await openShops(tx)).find((shop) => shop.id === id)
}
