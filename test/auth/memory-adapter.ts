import type { Adapter, AdapterPayload } from 'oidc-provider'

/**
 * Returns a function that creates the adapters of one `oidc-provider`. The adapters store the provider's records in
 * memory. So does the provider's built-in adapter, but it prints a warning on every start.
 */
export function memoryAdapters(): (model: string) => Adapter {
  const records = new Map<string, AdapterPayload>()
  const find = (matches: (payload: AdapterPayload) => boolean, prefix: string) =>
    [...records].find(([key, payload]) => key.startsWith(prefix) && matches(payload))?.[1]
  return (model) => {
    const keyOf = (id: string) => `${model}:${id}`
    return {
      upsert: async (id, payload) => void records.set(keyOf(id), structuredClone(payload)),
      find: async (id) => copyOf(records.get(keyOf(id))),
      findByUid: async (uid) => copyOf(find((payload) => payload.uid === uid, keyOf(''))),
      findByUserCode: async (userCode) => copyOf(find((payload) => payload.userCode === userCode, keyOf(''))),
      consume: async (id) => {
        const payload = records.get(keyOf(id))
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
      },
      destroy: async (id) => void records.delete(keyOf(id)),
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of records) if (payload.grantId === grantId) records.delete(key)
      },
    }
  }
}

function copyOf(payload: AdapterPayload | undefined): AdapterPayload | undefined {
  return payload === undefined ? undefined : structuredClone(payload)
}
