/** A rule that maps a claim to an agent. A claim matches if it is `value` or a list that contains `value`. */
export interface ClaimRule {
  claim: string
  value: string
  agentId: string
}

/**
 * Returns the id of the agent from the first rule that matches the claims; undefined if no rule matches.
 * @param rules A JSON array of `ClaimRule`.
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
