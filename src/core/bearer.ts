/** Returns the bearer token in an Authorization header (RFC 6750 section 2.1); undefined if there is none. */
export function bearerOf(authorization: string | null): string | undefined {
  return /^bearer +([\w.~+/=-]{1,2048})$/i.exec(authorization ?? '')?.[1]
}

/** Builds a WWW-Authenticate header (RFC 6750 section 3) with the given parameters, in the given order. */
export function bearerChallenge(parameters: Readonly<Record<string, string>>): string {
  const quoted = Object.entries(parameters).map(([name, value]) => `${name}="${value.replaceAll(/[\\"]/g, '\\$&')}"`)
  return `Bearer ${quoted.join(', ')}`
}
