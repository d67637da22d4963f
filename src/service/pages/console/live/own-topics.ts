import { findRun } from '../../../store/runs.ts'
import type { ConsoleDependencies } from '../shown.ts'

/** More than one page shows. */
const mostTopics = 5

/** The topics that a page asks for; undefined where one of them is not there for its party. */
export async function ownTopics(
  { store, environment }: Pick<ConsoleDependencies, 'store' | 'environment'>,
  partyId: string,
  asked: readonly string[],
): Promise<readonly string[] | undefined> {
  const topics = [...new Set(asked)]
  const named = environment === 'sandbox' ? ['runs', 'money', 'sandbox'] : ['runs', 'money']
  if (topics.length === 0 || topics.length > mostTopics) return undefined
  for (const topic of topics) {
    const [, runId] = /^run:(run_[0-9a-f]{32})$/.exec(topic) ?? []
    if (runId === undefined && !named.includes(topic)) return undefined
    if (runId !== undefined && (await store.read((tx) => findRun(tx, partyId, runId))) === undefined) return undefined
  }
  return topics
}
