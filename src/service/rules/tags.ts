import { failAttribute } from '../../core/errors.ts'

const maxTags = 50

/**
 * Applies a change to stored tags and returns the result. Stored tags are a JSON object of strings. A null value in the
 * change deletes a tag.
 * @throws 422 if there would be too many tags.
 */
export function mergedTags(before: string, change: Readonly<Record<string, string | null>>): string {
  const tags = { ...(JSON.parse(before) as Record<string, string>), ...change }
  const merged = Object.entries(tags).filter(([, value]) => value !== null)
  if (merged.length > maxTags) failAttribute('tags', `tags must have at most ${maxTags} entries, got ${merged.length}.`)
  return JSON.stringify(Object.fromEntries(merged))
}
