import { z } from 'zod'
import { nearestWord } from '../core/spelling.ts'
import { ownShop, ownShops } from './own-shops.ts'
import { type ShopDefinition, ShopRef } from './shops.ts'

type ReportMistake = (path: readonly PropertyKey[], message: string) => void

/**
 * The open shops of a world: built-in shops by name or id, and definitions of custom shops. The shops' names must be
 * unique, because a card refers to its merchant by name.
 */
export const OpenShops = z
  .array(ShopRef)
  .max(100)
  .superRefine((refs, context) => {
    const seen = new Set<string>()
    for (const [at, ref] of refs.entries()) {
      const report: ReportMistake = (path, message) =>
        context.addIssue({ code: 'custom', path: [at, ...path], message })
      const shop = typeof ref === 'string' ? ownShop(ref) : ref
      if (shop === undefined) {
        report([], unknownShop(String(ref)))
        continue
      }
      const checkUnique = (key: string, path: readonly PropertyKey[], kind: string) => {
        if (seen.has(key))
          report(typeof ref === 'string' ? [] : path, `has the same ${kind} as another shop of the file`)
        seen.add(key)
      }
      checkUnique(`id ${shop.id}`, ['id'], 'id')
      checkUnique(`name ${shop.name.trim()}`, ['name'], 'name')
      if (typeof ref !== 'string') checkParts(shop, report)
    }
  })

export type OpenShops = z.output<typeof OpenShops>

function unknownShop(name: string): string {
  const names = Object.keys(ownShops)
  const nearestShop = nearestWord(name, [...names, ...Object.values(ownShops).map(({ id }) => id)])
  return `is not a built-in shop${nearestShop === undefined ? `; use one of ${names.join(', ')}` : ` (did you mean ${nearestShop}?)`}`
}

function checkParts({ products, extras, captures, splitsAbove }: ShopDefinition, report: ReportMistake): void {
  for (const [kind, things] of Object.entries({ products, extras })) {
    for (const [at, { id }] of things.entries()) {
      if (things.findIndex((one) => one.id === id) < at) report([kind, at, 'id'], 'is a duplicate')
    }
  }
  if (splitsAbove !== undefined && captures.parcels === 'first_only') {
    report(['splitsAbove'], 'cannot be combined with captures.parcels first_only')
  }
  if (extras.filter(({ subscription }) => subscription !== undefined).length > 1) {
    report(['extras'], 'has more than one subscription; an order can have only one')
  }
}
