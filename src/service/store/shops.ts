import type { OpenShops } from '../../worlds/open-shops.ts'
import { ownShop, ownShops } from '../../worlds/own-shops.ts'
import type { ShopDefinition } from '../../worlds/shops.ts'
import type { Transaction } from './engine/store.ts'
import { findWorld } from './world.ts'

/** Returns the shops that are open in the world, in the order in which the world lists them. */
export async function openShops(tx: Transaction): Promise<ShopDefinition[]> {
  const shops = (await findWorld(tx))?.shops ?? null
  if (shops === null) return Object.values(ownShops)
  const refs = JSON.parse(shops) as OpenShops
  return refs.map((ref) => {
    const shop = typeof ref === 'string' ? ownShop(ref) : ref
    if (shop === undefined) throw new Error(`Bug: the world has the shop ${ref}, which does not exist.`)
    return shop
  })
}

export async function findShop(tx: Transaction, id: string): Promise<ShopDefinition | undefined> {
  return (await openShops(tx)).find((shop) => shop.id === id)
}
