import {
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { activity } from '../../../tools/activity.ts'
import { ApiError } from '../../client/api-error.ts'
import { Failure } from '../../core/errors.ts'
import type { OperationDefinition, SentInput } from '../../core/operation.ts'
import { pageOf } from '../answers/list-page.ts'
import { money, quoted } from '../answers/quoted-text.ts'
import { shownToModels } from '../answers/withheld-attributes.ts'
import { type Api, type Dependencies, mayCall } from '../dependencies.ts'
import { longestAddress } from '../subscriptions.ts'
import { activityTemplate, addressOf, kindEntries, parseAddress, type ResourceKind, templateOf } from './kinds.ts'
import { readSkill, skillResources, scheme as skillScheme } from './skills.ts'

/** How many resources of each kind are listed, newest first. Older ones can still be read by their address. */
const listedPerKind = 10

/** Lists the views, the activity of the connection's run, the newest resources of each kind, and the skills. */
export async function listResources(
  dependencies: Dependencies,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const { ui, choice, run } = dependencies
  const runId = run.id()
  const views = ui.resources.map(({ read: _, ...listed }): Resource => listed)
  const skills = await skillResources(dependencies)
  const ownActivity: Resource[] =
    runId === undefined || !mayCall(choice, activity.listActivity)
      ? []
      : [{ uri: addressOf('activity', runId), name: 'activity', title: 'Activity of this run', mimeType }]
  const recent = await Promise.all(
    readableKinds(dependencies).map(([kind, found]) => newestResources(dependencies, kind, found)),
  )
  const { page, ...next } = pageOf([...views, ...ownActivity, ...recent.flat(), ...skills], ({ uri }) => uri, cursor)
  return { resources: page, ...next }
}

export function listTemplates(dependencies: Dependencies, cursor: string | undefined): ListResourceTemplatesResult {
  const templates = readableKinds(dependencies).map(([kind, { title, read }]) => ({
    uriTemplate: templateOf(kind),
    name: kind,
    title,
    description: read.description,
    mimeType,
  }))
  if (mayCall(dependencies.choice, activity.listActivity)) {
    const description = 'The actions of one run, newest first, with actor, resources and result.'
    templates.push({ uriTemplate: activityTemplate, name: 'activity', title: 'Activity', description, mimeType })
  }
  const { page, ...next } = pageOf(templates, ({ name }) => name, cursor)
  return { resourceTemplates: page, ...next }
}

/** Reads a resource. Withholds the same attributes as tools do. Never calls an operation that shows a card number. */
export async function readResource(
  dependencies: Dependencies,
  uri: string,
  signal: AbortSignal,
): Promise<ReadResourceResult> {
  const view = dependencies.ui.resources.find((resource) => resource.uri === uri)
  if (view !== undefined) {
    const { mimeType: type, _meta } = view
    return { contents: [{ uri, mimeType: type, text: await view.read(), ...(_meta === undefined ? {} : { _meta }) }] }
  }
  if (uri.startsWith(skillScheme)) return readSkill(dependencies, uri)
  const [operation, input] = readCallFor(dependencies, uri)
  try {
    const { call } = await dependencies.api.client()
    const { data, meta } = await call(operation, input, { signal })
    const content = { data: shownToModels(data), ...(meta === undefined ? {} : { meta }) }
    // Some hosts give the model only the first part that is plain text.
    const asText = { uri, mimeType: 'text/plain', text: linesOf(content).join('\n') }
    return { contents: [{ uri, mimeType, text: JSON.stringify(content) }, asText] }
  } catch (error) {
    throw asProtocolError(error, uri)
  }
}

interface Reader {
  choice: Parameters<typeof mayCall>[0]
  api: Pick<Api, 'client'>
}

/** Returns whether the connection can now read the resource at this address. */
export async function isReadable(reader: Reader, uri: string): Promise<boolean> {
  try {
    const [operation, input] = readCallFor(reader, uri)
    await (await reader.api.client()).call(operation, input)
    return true
  } catch (error) {
    const isNotFound = error instanceof ResourceNotFoundError
    if (isNotFound || (error instanceof ApiError && error.status < 500) || isUnauthenticated(error)) return false
    throw error
  }
}

/** Returns whether the error means that the credential is invalid: no API token could be obtained with it. */
function isUnauthenticated(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unauthenticated'
}

/** Returns the newest records of a kind, or none if the credential is not permitted to list them. */
export async function findNewest(dependencies: Dependencies, { list }: ResourceKind, limit: number): Promise<Listed[]> {
  try {
    const { call } = await dependencies.api.client()
    const input = { limit } as unknown as SentInput<OperationDefinition>
    return (await call(list, input)).data as unknown as Listed[]
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return []
    throw asProtocolError(error)
  }
}

interface Listed {
  id: string
  attributes?: { status?: unknown; updatedAt?: unknown; currency?: unknown }
}

const mimeType = 'application/json'

export function readableKind(dependencies: Reader, kind: string): ResourceKind | undefined {
  return readableKinds(dependencies).find(([name]) => name === kind)?.[1]
}

function readableKinds({ choice }: Pick<Reader, 'choice'>) {
  return kindEntries.filter(([, { read, list }]) => mayCall(choice, read) && mayCall(choice, list))
}

/** Lists the newest resources of a kind. Free text in their titles is quoted and shortened. */
async function newestResources(dependencies: Dependencies, kind: string, found: ResourceKind): Promise<Resource[]> {
  return (await findNewest(dependencies, found, listedPerKind)).map(({ id, attributes }) => {
    const status = /^\w{1,40}$/.test(String(attributes?.status)) ? `, ${attributes?.status}` : ''
    const amount = valueAt(attributes, found.titleFields.amount)
    const text = valueAt(attributes, found.titleFields.text)
    const currency = attributes?.currency ?? valueAt(attributes, ['payment', 'currency'])
    const title = [
      found.title,
      ...(typeof amount === 'number' ? [money(amount, currency)] : []),
      ...(typeof text === 'string' ? [quoted(text, 40)] : []),
    ].join(' ')
    return { uri: addressOf(kind, id), name: id, title: `${title}${status}`, mimeType }
  })
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inner, name) => (inner as Record<string, unknown> | null | undefined)?.[name], value)
}

/**
 * Renders a line for each value, such as `attributes.status: "used"`. Strings stay quoted, so that a line break in a
 * string does not begin a new line.
 */
function linesOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}: ${JSON.stringify(value)}`]
  return Object.entries(value).flatMap(([name, inner]) => linesOf(inner, path === '' ? name : `${path}.${name}`))
}

function readCallFor(dependencies: Reader, uri: string) {
  const { kind, id, customerPartyId } = (uri.length > longestAddress ? undefined : parseAddress(uri)) ?? {}
  const acting = customerPartyId === undefined ? {} : { customerPartyId }
  if (kind === 'activity' && mayCall(dependencies.choice, activity.listActivity)) {
    return [activity.listActivity as OperationDefinition, { instanceId: id, limit: 100, ...acting }] as const
  }
  const found = kind === undefined ? undefined : readableKind(dependencies, kind)
  if (found === undefined) throw new ResourceNotFoundError(uri)
  return [found.read, { [found.id]: id, ...acting }] as const
}

function asProtocolError(error: unknown, uri?: string): unknown {
  const isAbsent =
    error instanceof Failure ? error.code === 'invalid_value' : error instanceof ApiError && error.status === 404
  if (isAbsent && uri !== undefined) return new ResourceNotFoundError(uri)
  if (error instanceof ApiError) {
    return new ProtocolError(ProtocolErrorCode.InternalError, `${error.detail} ${error.next}`)
  }
  return error instanceof Failure ? new ProtocolError(ProtocolErrorCode.InternalError, error.message) : error
}
