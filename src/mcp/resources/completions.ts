import {
  type CompleteRequest,
  type CompleteResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import { show } from '../../core/errors.ts'
import type { Dependencies } from '../dependencies.ts'
import { rehearsals } from '../prompts.ts'
import { activityTemplate, resourceKinds, templateOf } from './kinds.ts'
import { findNewest, readableKind } from './resources.ts'

/** The maximum number of values in an answer, according to the protocol. The API has the same maximum for a page. */
const maxValues = 100

/**
 * Completes an argument of a prompt or a part of a resource's address, with the newest values that match the typed
 * prefix.
 */
export async function complete(
  dependencies: Dependencies,
  { ref, argument }: CompleteRequest['params'],
): Promise<CompleteResult> {
  const values =
    ref.type === 'ref/prompt'
      ? await promptValues(dependencies, ref.name, argument.name)
      : await templateValues(dependencies, ref.uri, argument.name)
  const matching = values.filter((value) => value.startsWith(argument.value))
  return {
    completion: {
      values: matching.slice(0, maxValues),
      total: matching.length,
      hasMore: matching.length > maxValues,
    },
  }
}

async function promptValues(dependencies: Dependencies, prompt: string, argument: string): Promise<string[]> {
  const key = `${prompt} ${argument}`
  if (key === 'rehearse_purchase outcome') return Object.keys(rehearsals)
  if (key === 'review_approvals approvalId') return await newestIds(dependencies, 'approvals')
  // Other arguments are free text. They get no suggestions, not even merchant names from stored records.
  return []
}

async function templateValues(dependencies: Dependencies, uri: string, argument: string): Promise<string[]> {
  if (uri === activityTemplate) return argument === 'instanceId' ? [dependencies.run.id() ?? []].flat() : []
  const kind = Object.keys(resourceKinds).find((candidate) => templateOf(candidate) === uri)
  if (kind === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no resource template ${show(uri)}.`)
  return argument === 'id' ? await newestIds(dependencies, kind) : []
}

async function newestIds(dependencies: Dependencies, kind: string): Promise<string[]> {
  const found = readableKind(dependencies, kind)
  return found === undefined ? [] : (await findNewest(dependencies, found, maxValues)).map(({ id }) => id)
}
