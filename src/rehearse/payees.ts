/** Returns whether two texts name the same payee, ignoring case and the @ of a handle. */
export const isPayee = (one: string, other: string) => bareHandle(one) === bareHandle(other)

const bareHandle = (handle: string) => handle.trim().replace(/^@/, '').toLowerCase()
