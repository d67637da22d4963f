interface LineHandlers {
  received(line: Buffer): void
  /** Handles the end of a line that was dropped because it was too long. */
  tooLong(): void
}

const newline = 0x0a

/**
 * Returns a function that splits chunks into lines. Each line keeps its line feed. A line over `longestBytes` is
 * dropped.
 */
export function createLineReader(longestBytes: number, { received, tooLong }: LineHandlers): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let length = 0
  const take = (part: Buffer) => {
    length += part.byteLength
    if (length > longestBytes) parts = []
    else parts.push(part)
  }
  return (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end + 1))
      start = end + 1
      const line = length > longestBytes ? undefined : Buffer.concat(parts)
      parts = []
      length = 0
      if (line === undefined) tooLong()
      else received(line)
    }
    if (start < chunk.byteLength) take(chunk.subarray(start))
  }
}
