/** A claim that chooses an agent: the claim equals the value, or is a list that contains it. */
export interface AgentClaim {
  claim: string
  value: string
  agentId: string
}

/** Returns the agent of the first rule that the claims fit; undefined if none fits. @param rules JSON array */
export function agentFor(rules: string, claims: Readonly<Record<string, unknown>>): string | undefined {
  return claimRules(rules).find(({ claim, value }) => {
    const claimed = Object.hasOwn(claims, claim) ? claims[claim] : undefined
    return Array.isArray(claimed) ? claimed.includes(value) : claimed === value
  })?.agentId
}

export function claimRules(rules: string): AgentClaim[] {
  return JSON.parse(rules) as AgentClaim[]
}
