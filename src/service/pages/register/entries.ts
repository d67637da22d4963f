import { publicKeyMembers } from '../../../../tools/applications.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import type { ClaimRule } from '../../rules/trusted-issuers.ts'

/** An agent that a person can choose in a form. */
export interface Agent {
  id: string
  name: string
}

/** The values that the person entered in the form for an application. */
export interface ApplicationEntry {
  name: string
  agentId: string
  scopes: readonly string[]
  /** Whether the application identifies itself with a secret or with a private key. */
  proof: 'secret' | 'key'
  /** The text in the field for public keys. It should be JSON. */
  keys: string
}

/** The values that the person entered in the form for an identity provider. */
export interface ProviderEntry {
  name: string
  issuer: string
  jwksUri: string
  rules: readonly ClaimRule[]
  scopes: readonly string[]
}

type Field<Entry> = keyof Entry | 'form'

/** The problems with a form's values, by field. A problem that belongs to no single field is under `form`. */
export type Problems<Entry> = Partial<Record<Field<Entry>, string>>

/** The maximum number of rules in the form. The tool `update_trusted_issuer` accepts more. */
export const maxRules = 20

export function applicationEntry(sent: URLSearchParams): ApplicationEntry {
  return {
    name: fieldValue(sent, 'name'),
    agentId: fieldValue(sent, 'agentId'),
    scopes: sent.getAll('scope'),
    proof: sent.get('proof') === 'key' ? 'key' : 'secret',
    keys: fieldValue(sent, 'keys'),
  }
}

export function providerEntry(sent: URLSearchParams): ProviderEntry {
  const [values, agentIds] = [sent.getAll('value'), sent.getAll('agentId')]
  const rules = sent.getAll('claim').map((claim, at) => ({
    claim: claim.trim(),
    value: values[at]?.trim() ?? '',
    agentId: agentIds[at] ?? '',
  }))
  return {
    name: fieldValue(sent, 'name'),
    issuer: fieldValue(sent, 'issuer'),
    jwksUri: fieldValue(sent, 'jwksUri'),
    rules: rules.slice(0, maxRules),
    scopes: sent.getAll('scope'),
  }
}

/** The attributes and relationships of the API request to make, or the problems if the form is invalid. */
type FormResult<Entry> = { attributes: object; relationships?: object } | { problems: Problems<Entry> }

const isAmong = (agents: readonly Agent[], id: string) => agents.some((agent) => agent.id === id)

const noScope = 'Choose at least one permission.'

/**
 * Returns the content of the API request that registers the application, or the form's problems. Checks only for
 * missing values, unknown agents and unusable keys; the API checks the rest.
 */
export function applicationRequest(entry: ApplicationEntry, agents: readonly Agent[]): FormResult<ApplicationEntry> {
  const { name, agentId, scopes, proof } = entry
  const keys = proof === 'key' ? keysIn(entry.keys) : { publicKeys: undefined }
  const problems: Problems<ApplicationEntry> = {
    ...(name === '' && { name: 'Enter a name.' }),
    ...(!isAmong(agents, agentId) && { agentId: 'Choose the agent that the application acts as.' }),
    ...(scopes.length === 0 && { scopes: noScope }),
    ...('problem' in keys && { keys: keys.problem }),
  }
  if (Object.keys(problems).length > 0 || 'problem' in keys) return { problems }
  const relationships = { agent: { data: { type: 'agent', id: agentId } } }
  return { attributes: { name, scopes, publicKeys: keys.publicKeys }, relationships }
}

/**
 * Returns the content of the API request that makes the provider a trusted issuer, or the form's problems. Leaves out
 * empty rules.
 */
export function providerRequest(entry: ProviderEntry, agents: readonly Agent[]): FormResult<ProviderEntry> {
  const { name, issuer, jwksUri, rules, scopes } = entry
  const filled = rules.filter(({ claim, value }) => claim !== '' || value !== '')
  const problems: Problems<ProviderEntry> = {
    ...(name === '' && { name: 'Enter a name.' }),
    ...(issuer === '' && { issuer: 'Enter the address that identifies the provider in its assertions.' }),
    ...(jwksUri === '' && { jwksUri: 'Enter the address of the provider’s public keys.' }),
    ...(filled.length === 0 && { rules: 'Enter at least one rule: a claim, its value, and an agent.' }),
    ...(filled.some((rule) => rule.claim === '' || rule.value === '' || !isAmong(agents, rule.agentId)) && {
      rules: 'Each rule needs a claim, its value, and an agent. To leave a rule out, clear its claim and value.',
    }),
    ...(scopes.length === 0 && { scopes: noScope }),
  }
  if (Object.keys(problems).length > 0) return { problems }
  return { attributes: { name, issuer, jwksUri, agents: filled, scopes } }
}

const keyProblem = 'Paste one public key as JSON (a JWK), or a set of public keys (a JWKS).'
/** The JWK members that only private keys and symmetric keys have (RFC 7518 section 6). */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Parses a JWK, a JWKS or a list of JWKs. Returns only the known public members of each key, or a problem. */
function keysIn(text: string): { publicKeys: object[] } | { problem: string; isSecret?: true } {
  if (text === '') return { problem: keyProblem }
  const value = parseJson(text)
  const keys = [isObject(value) && Array.isArray(value.keys) ? value.keys : value].flat()
  if (!keys.every(isObject)) return { problem: keyProblem }
  if (keys.some((key) => secretMembers.some((member) => Object.hasOwn(key, member)))) {
    const problem = 'This is a private key. It was not stored. Paste only the public key, without members such as “d”.'
    return { problem, isSecret: true }
  }
  return { publicKeys: keys.map(publicMembersOf) }
}

/**
 * Returns the values that the form shows again: `entry`, but with an empty `keys` field if that field contains a
 * private key.
 */
export function withoutPrivateKey(entry: ApplicationEntry): ApplicationEntry {
  const keys = keysIn(entry.keys)
  return 'isSecret' in keys ? { ...entry, keys: '' } : entry
}

function publicMembersOf(key: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(key).filter(([name]) => publicKeyMembers.includes(name)))
}

/** Returns the trimmed value of a field, with each `\r\n` replaced by `\n`. Browsers send line breaks as `\r\n`. */
function fieldValue(sent: URLSearchParams, name: string): string {
  return (sent.get(name) ?? '').replaceAll('\r\n', '\n').trim()
}
