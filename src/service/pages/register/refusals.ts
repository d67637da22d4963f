import type { Reply } from '../../request/reply.ts'
import { detailOf } from '../frame/refusals.ts'
import type { ApplicationEntry, Problems, ProviderEntry } from './entries.ts'

/**
 * For each attribute or relationship of the API request: the form field with the value, and the words for that field in
 * a message.
 */
type Fields<Entry> = Readonly<Record<string, { field: keyof Entry; words: string }>>

const applicationFields: Fields<ApplicationEntry> = {
  name: { field: 'name', words: 'The name' },
  agent: { field: 'agentId', words: 'The agent' },
  scopes: { field: 'scopes', words: 'The permissions' },
  publicKeys: { field: 'keys', words: 'The keys' },
}

const providerFields: Fields<ProviderEntry> = {
  name: { field: 'name', words: 'The name' },
  issuer: { field: 'issuer', words: 'The issuer' },
  jwksUri: { field: 'jwksUri', words: 'The address of the keys' },
  agents: { field: 'rules', words: 'The rules' },
  scopes: { field: 'scopes', words: 'The permissions' },
}

export function applicationProblems(reply: Reply): Problems<ApplicationEntry> {
  return problemsOf(reply, applicationFields)
}

export function providerProblems(reply: Reply): Problems<ProviderEntry> {
  return problemsOf(reply, providerFields)
}

/**
 * Converts an API error to a problem with the form field that the error points to. If the error points to no field of
 * the form, the problem belongs to the whole form.
 */
function problemsOf<Entry>(reply: Reply, fields: Fields<Entry>): Problems<Entry> {
  const { errors } = JSON.parse(reply.body) as { errors: { source?: { pointer?: string } }[] }
  const detail = detailOf(reply)
  const [, attribute = ''] = /^\/data\/(?:attributes|relationships)\/(\w+)/.exec(errors[0]?.source?.pointer ?? '') ?? []
  const at = Object.hasOwn(fields, attribute) ? fields[attribute] : undefined
  if (at === undefined) return { form: detail } as Problems<Entry>
  const text = detail.startsWith(`${attribute} `) ? `${at.words}${detail.slice(attribute.length)}` : detail
  return { [at.field]: text } as Problems<Entry>
}
