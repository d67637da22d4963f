import type { Answer, Sent, World } from '../support/world.ts'

/** Sends POST /agent-keys with a relationship to the agent. */
export function postAgentKey(
  world: World,
  agentId: string,
  { attributes = {}, ...sent }: Sent & { attributes?: object } = {},
): Promise<Answer> {
  const relationships = { agent: { data: { type: 'agent', id: agentId } } }
  return world.send('POST', '/agent-keys', {
    key: world.apiKey,
    ...sent,
    body: JSON.stringify({ data: { attributes, relationships } }),
  })
}

/** The attributes of a trusted identity provider, without the list of the agents that the provider may sign in. */
export const trust = { name: 'Chat', issuer: 'https://idp.example', jwksUri: 'https://idp.example/jwks' }

/** Sends POST /trusted-issuers, so that the identity provider can sign in its user `clerk` as the agent. */
export function postIssuer(world: World, agentId: string, attributes: object = {}, sent: Sent = {}): Promise<Answer> {
  const agents = [{ claim: 'sub', value: 'clerk', agentId }]
  return world.post('/trusted-issuers', { ...trust, agents, ...attributes }, { key: world.apiKey, ...sent })
}

/** Sends POST /applications, which registers a program that signs in as the agent, without a person. */
export function postApplication(
  world: World,
  agentId: string,
  attributes: object = {},
  sent: Sent = {},
): Promise<Answer> {
  const relationships = { agent: { data: { type: 'agent', id: agentId } } }
  const body = JSON.stringify({ data: { attributes: { name: 'Worker', ...attributes }, relationships } })
  return world.send('POST', '/applications', { key: world.apiKey, ...sent, body })
}

export async function exchange(
  world: World,
  fields: Record<string, string> | [string, string][] | string,
  contentType = 'application/x-www-form-urlencoded',
) {
  const body = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString()
  const response = await world.service.fetch(
    new Request('http://sandbox.test/oauth/token', { method: 'POST', headers: { 'Content-Type': contentType }, body }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

export const tokenType = 'urn:ietf:params:oauth:token-type:access_token'

export function exchangeFields(key: string) {
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: key,
    subject_token_type: tokenType,
  }
}

export async function exchanged(world: World, key: string): Promise<string> {
  const answer = await exchange(world, exchangeFields(key))
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.access_token
}
