/** Parses a body that is JSON, or server-sent events with JSON. Returns the values; undefined if none can be parsed. */
export function jsonIn(body: string): unknown[] | undefined {
  const events = [...body.matchAll(/^data: ?(.*)$/gm)].map(([, data]) => data ?? '')
  const texts = /^(?:event|data|id|retry|):/m.test(body.slice(0, 200)) && events.length > 0 ? events : [body]
  const values = texts.flatMap((text) => {
    try {
      return [JSON.parse(text) as unknown].flat()
    } catch {
      return []
    }
  })
  return values.length === 0 ? undefined : values
}

/** Returns the visible text of an HTML page. */
export function wordsOf(page: string): string {
  return page
    .replace(/<(script|style|head)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&nbsp;/g, ' ')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim()
}
