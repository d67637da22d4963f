/** A rule that chooses an agent. It matches if a claim equals the value, or is a list that contains the value. */
export interface ClaimRule {
  claim: string
  value: string
  agentId: string
}

/**
 * Returns the agent of the first rule that the claims match; undefined if they match no rule. @param rules A JSON
 * array.
 */
export function agentFor(rules: string, claims: Readonly<Record<string, unknown>>): string | undefined {
  return claimRules(rules).find(({ claim, value }) => {
    const claimed = Object.hasOwn(claims, claim) ? claims[claim] : undefined
    return Array.isArray(claimed) ? claimed.includes(value) : claimed === value
  })?.agentId
}

export function claimRules(rules: string): ClaimRule[] {
  return JSON.parse(rules) as ClaimRule[]
}
