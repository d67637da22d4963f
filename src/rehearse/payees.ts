/** Returns whether two texts name the same payee. The @ of a handle and the case do not matter. */
export const isPayee = (one: string, other: string) => bare(one) === bare(other)

const bare = (handle: string) => handle.trim().replace(/^@/, '').toLowerCase()
