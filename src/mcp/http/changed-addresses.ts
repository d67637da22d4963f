import { addressOf, kindEntries } from '../resources/kinds.ts'

/** What was changed with a credential. */
export interface Change {
  principalId: string
  resourceIds: readonly string[]
  instanceId: string | null
  customerPartyId: string | null
}

/** The addresses of what was changed: each resource that a host can watch, and the activity of the run. */
export function addressesOf({ resourceIds, instanceId, customerPartyId }: Change): string[] {
  const customer = customerPartyId ?? undefined
  const addresses = resourceIds.flatMap((id) => {
    const kind = kindEntries.find(([, { read, id: name }]) => read.params?.shape[name]?.safeParse(id).success)
    return kind === undefined ? [] : addressOf(kind[0], id, customer)
  })
  return instanceId === null ? addresses : [...addresses, addressOf('activity', instanceId)]
}
