/**
 * Where a record was found by something else than its id, its id is not known, only the hash: a reference stands for it.
 * What comes from outside never is one.
 */
const prefix = 'hashed:'

/** Whether a text is a reference; one from outside that is only poses as one. */
export function isReference(text: string): boolean {
  return text.startsWith(prefix)
}

export function referenceTo(idHash: string): string {
  return prefix + idHash
}

export function hashOfReference(reference: string): string {
  return reference.slice(prefix.length)
}
