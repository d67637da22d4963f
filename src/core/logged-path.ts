/**
 * Makes a path safe to log. Keeps the words of routes, the ids of records, and short numbers. Every other segment
 * becomes `…`, because it may be a secret, such as a token that opens a page.
 */
export function loggedPath(path: string): string {
  const segments = path.split('/').map((segment) => (loggedSegment.test(segment) ? segment : '…'))
  return segments.slice(0, maxSegments).join('/')
}

const loggedSegment =
  /^(?:|\.well-known|[a-z]{1,20}(?:-[a-z]{1,20}){0,4}(?:\.[a-z]{2,4})?|[a-z]{3}_[0-9a-f]{32}|\d{1,4})$/
const maxSegments = 12
