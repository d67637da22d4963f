/** Returns whether two strings name the same payee. Case and a leading @ are ignored. */
export const isPayee = (one: string, other: string) => bareHandle(one) === bareHandle(other)

const bareHandle = (handle: string) => handle.trim().replace(/^@/, '').toLowerCase()
