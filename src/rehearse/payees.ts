/** Returns whether two texts name the same payee, ignoring case and the @ of a handle. */
export const isPayee = (one: string, other: string) => bare(one) === bare(other)

const bare = (handle: string) => handle.trim().replace(/^@/, '').toLowerCase()
