import { failAttribute } from '../../core/errors.ts'

const maxTags = 50

/**
 * Merges a change into tags. Tags are stored as a JSON object of strings. A null value deletes a tag. @throws 422 if
 * there are too many.
 */
export function mergedTags(before: string, change: Readonly<Record<string, string | null>>): string {
  const tags = { ...(JSON.parse(before) as Record<string, string>), ...change }
  const merged = Object.entries(tags).filter(([, value]) => value !== null)
  if (merged.length > maxTags) failAttribute('tags', `tags must be at most ${maxTags}, got ${merged.length}.`)
  return JSON.stringify(Object.fromEntries(merged))
}
