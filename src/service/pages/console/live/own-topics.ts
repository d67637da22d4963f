import { findRun } from '../../../store/runs.ts'
import type { ConsoleDependencies } from '../serve-page.ts'

/** The maximum number of topics for one stream. Every page needs fewer topics. */
const maxTopics = 5

/**
 * Returns the requested topics without duplicates. Returns undefined if the request has no topic or too many topics, or
 * if a requested topic does not exist for this party.
 */
export async function ownTopics(
  { store, environment }: Pick<ConsoleDependencies, 'store' | 'environment'>,
  partyId: string,
  requested: readonly string[],
): Promise<readonly string[] | undefined> {
  const topics = [...new Set(requested)]
  const fixedTopics = environment === 'sandbox' ? ['runs', 'money', 'sandbox'] : ['runs', 'money']
  if (topics.length === 0 || topics.length > maxTopics) return undefined
  for (const topic of topics) {
    const [, runId] = /^run:(run_[0-9a-f]{32})$/.exec(topic) ?? []
    if (runId === undefined && !fixedTopics.includes(topic)) return undefined
    if (runId !== undefined && (await store.read((tx) => findRun(tx, partyId, runId))) === undefined) return undefined
  }
  return topics
}
