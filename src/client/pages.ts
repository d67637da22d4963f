import type { OperationDefinition, SentInput } from '../core/operation.ts'
import type { CallOptions, CallResult, Client } from './client.ts'

/** A list that never ends is a fault of the service: 1000 pages are 100,000 records at the largest limit. */
const maximumPages = 1000

/**
 * The pages of a list. The last one is that without a next cursor; a cursor that was already followed ends the list
 * too, for a service that repeats the cursor of the last page would never end it.
 */
export async function* pages<D extends OperationDefinition>(
  call: Client['call'],
  operation: D,
  input: SentInput<D>,
  options?: CallOptions,
): AsyncGenerator<CallResult<D>> {
  const followed = new Set<string>()
  let page = input
  for (let number = 1; number <= maximumPages; number++) {
    const result = await call(operation, page, options)
    yield result
    const cursor = result.meta?.pagination?.nextCursor
    if (typeof cursor !== 'string' || cursor === '' || followed.has(cursor)) return
    followed.add(cursor)
    page = { ...input, cursor }
  }
}
