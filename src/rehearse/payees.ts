/** Whether two texts name the same payee: a handle is the same with its @ and without it, in upper case and in lower case. */
export const isPayee = (one: string, other: string) => bare(one) === bare(other)

const bare = (handle: string) => handle.trim().replace(/^@/, '').toLowerCase()
