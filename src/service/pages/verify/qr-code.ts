/** The modules of a QR code, row by row; true is dark. */
export type QrCode = readonly (readonly boolean[])[]

/**
 * The versions that are used (ISO/IEC 18004, table 9), at the error correction of 7 %, which a screen needs no more than:
 * for each the check bytes of a block, then how many blocks there are of how many data bytes, and the alignment patterns.
 */
const versions: readonly { check: number; blocks: readonly [count: number, data: number][]; align: number[] }[] = [
  { check: 7, blocks: [[1, 19]], align: [] },
  { check: 10, blocks: [[1, 34]], align: [6, 18] },
  { check: 15, blocks: [[1, 55]], align: [6, 22] },
  { check: 20, blocks: [[1, 80]], align: [6, 26] },
  { check: 26, blocks: [[1, 108]], align: [6, 30] },
  { check: 18, blocks: [[2, 68]], align: [6, 34] },
  { check: 20, blocks: [[2, 78]], align: [6, 22, 38] },
  { check: 24, blocks: [[2, 97]], align: [6, 24, 42] },
  { check: 30, blocks: [[2, 116]], align: [6, 26, 46] },
  {
    check: 18,
    blocks: [
      [2, 68],
      [2, 69],
    ],
    align: [6, 28, 50],
  },
  { check: 20, blocks: [[4, 81]], align: [6, 30, 54] },
  {
    check: 24,
    blocks: [
      [2, 92],
      [2, 93],
    ],
    align: [6, 32, 58],
  },
  { check: 26, blocks: [[4, 107]], align: [6, 34, 62] },
  {
    check: 30,
    blocks: [
      [3, 115],
      [1, 116],
    ],
    align: [6, 26, 46, 66],
  },
  {
    check: 22,
    blocks: [
      [5, 87],
      [1, 88],
    ],
    align: [6, 26, 48, 70],
  },
]

type Layout = (typeof versions)[number]

/** The QR code of a text, bytes in UTF-8; undefined for more than 520 of them. */
export function qrCode(text: string): QrCode | undefined {
  const bytes = Buffer.from(text)
  const index = versions.findIndex((layout, at) => bytes.length + (at < 9 ? 2 : 3) <= capacity(layout))
  const layout = versions[index]
  if (layout === undefined) return undefined
  const version = index + 1
  const words = interleaved(layout, padded(bytes, version, capacity(layout)))
  const codes = masks.map((mask, number) => drawn(version, layout, words, mask, number))
  return codes.reduce((best, code) => (penalty(code) < penalty(best) ? code : best))
}

/** The dark modules as the path of an SVG whose unit is a module, with the quiet zone of four around them. */
export function qrPath(code: QrCode): { size: number; path: string } {
  const rows = code.map((row, y) => row.map((dark, x) => (dark ? `M${x + 4} ${y + 4}h1v1h-1z` : '')).join(''))
  return { size: code.length + 8, path: rows.join('') }
}

function capacity({ blocks }: Layout): number {
  return blocks.reduce((sum, [count, data]) => sum + count * data, 0)
}

/** Mode, length and the bytes, filled up to what the version holds. */
function padded(bytes: Buffer, version: number, room: number): number[] {
  const bits = `0100${bytes.length.toString(2).padStart(version < 10 ? 8 : 16, '0')}${[...bytes].map(octet).join('')}0000`
  const words = (bits.padEnd(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? []).map((word) =>
    Number.parseInt(word, 2),
  )
  for (let filler = 0xec; words.length < room; filler ^= 0xec ^ 0x11) words.push(filler)
  return words.slice(0, room)
}

const octet = (byte: number) => byte.toString(2).padStart(8, '0')

/** The blocks' bytes taken in turns, their check bytes after them. */
function interleaved({ check, blocks }: Layout, words: number[]): number[] {
  const parts: number[][] = []
  let at = 0
  for (const [count, data] of blocks) {
    for (let block = 0; block < count; block++, at += data) parts.push(words.slice(at, at + data))
  }
  const checks = parts.map((part) => checkBytes(part, check))
  return [...inTurns(parts), ...inTurns(checks)]
}

function inTurns(parts: readonly number[][]): number[] {
  const longest = Math.max(...parts.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => parts.flatMap((part) => part[at] ?? [])).flat()
}

/** The product in the field of 256 elements with the polynomial 0x11d. */
function times(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> bit) & 1) * a)
  return product
}

/** The remainder of a block by the generator of so many check bytes (Reed and Solomon). */
function checkBytes(part: readonly number[], count: number): number[] {
  let generator = [1]
  for (let power = 0, root = 1; power < count; power++, root = times(root, 2)) {
    const shifted = [...generator, 0]
    generator = shifted.map((factor, at) => factor ^ times(generator[at - 1] ?? 0, root))
  }
  const rest = [...part, ...Array<number>(count).fill(0)]
  for (let at = 0; at < part.length; at++) {
    const factor = rest[at] ?? 0
    for (const [offset, by] of generator.entries()) rest[at + offset] = (rest[at + offset] ?? 0) ^ times(by, factor)
  }
  return rest.slice(part.length)
}

const masks: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

function drawn(version: number, { align }: Layout, words: number[], mask: (typeof masks)[number], number: number) {
  const size = version * 4 + 17
  const fixed: (boolean | undefined)[][] = Array.from({ length: size }, () => Array<boolean | undefined>(size))
  const set = (x: number, y: number, dark: boolean) => {
    const row = fixed[y]
    if (row !== undefined && x >= 0 && x < size) row[x] = dark
  }
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0)
    set(at, 6, at % 2 === 0)
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(set, x, y, 4, [2, 4])
  const last = align.length - 1
  for (const [i, x] of align.entries()) {
    for (const [j, y] of align.entries()) {
      const isFinder = (i === 0 && j === 0) || (i === 0 && j === last) || (i === last && j === 0)
      if (!isFinder) square(set, x, y, 2, [1])
    }
  }
  drawFormat(set, size, number)
  if (version >= 7) drawVersion(set, size, version)
  const bits = words.flatMap((word) => [...octet(word)].map((bit) => bit === '1'))
  return withData(fixed, bits, mask)
}

type SetModule = (x: number, y: number, dark: boolean) => void

/** Rings around a point, those of the radii in `light` light. */
function square(set: SetModule, x: number, y: number, radius: number, light: readonly number[]): void {
  for (let dy = -radius; dy <= radius; dy++) {
    for (let dx = -radius; dx <= radius; dx++) {
      set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))))
    }
  }
}

/** Appends the remainder by a generator of BCH codes. */
function withRemainder(data: number, generator: number, length: number): number {
  let rest = data
  for (let step = 0; step < length; step++) rest = (rest << 1) ^ ((rest >>> (length - 1)) * generator)
  return (data << length) | rest
}

function drawFormat(set: SetModule, size: number, mask: number): void {
  // 01 is the error correction of 7 %.
  const bits = withRemainder((1 << 3) | mask, 0x537, 10) ^ 0x5412
  const dark = (at: number) => ((bits >>> at) & 1) === 1
  for (let at = 0; at < 6; at++) set(8, at, dark(at))
  set(8, 7, dark(6))
  set(8, 8, dark(7))
  set(7, 8, dark(8))
  for (let at = 9; at < 15; at++) set(14 - at, 8, dark(at))
  for (let at = 0; at < 8; at++) set(size - 1 - at, 8, dark(at))
  for (let at = 8; at < 15; at++) set(8, size - 15 + at, dark(at))
  set(8, size - 8, true)
}

function drawVersion(set: SetModule, size: number, version: number): void {
  const bits = withRemainder(version, 0x1f25, 12)
  for (let at = 0; at < 18; at++) {
    const [far, near] = [size - 11 + (at % 3), Math.floor(at / 3)]
    set(far, near, ((bits >>> at) & 1) === 1)
    set(near, far, ((bits >>> at) & 1) === 1)
  }
}

/** Lays the bits in pairs of columns from the right, up and down, around what is fixed. */
function withData(fixed: (boolean | undefined)[][], bits: boolean[], mask: (typeof masks)[number]): QrCode {
  const size = fixed.length
  const code = fixed.map((row) => Array.from(row, (dark) => dark ?? false))
  let at = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    for (let step = 0; step < size; step++) {
      const y = ((right + 1) & 2) === 0 ? size - 1 - step : step
      for (const x of [right, right - 1]) {
        const row = code[y]
        if (row === undefined || fixed[y]?.[x] !== undefined) continue
        row[x] = (bits[at++] ?? false) !== mask(x, y)
      }
    }
  }
  return code
}

/** How hard a code is to read: long runs, blocks of one colour, what looks like a corner, too much of one colour. */
function penalty(code: QrCode): number {
  const columns = code.map((_, x) => code.map((row) => row[x] ?? false))
  const lines = [...code, ...columns].map((line) => line.map((dark) => (dark ? '1' : '0')).join(''))
  let sum = 0
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2
    sum += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length
  }
  for (let y = 1; y < code.length; y++) {
    for (let x = 1; x < code.length; x++) {
      const dark = code[y]?.[x]
      if (dark === code[y - 1]?.[x] && dark === code[y]?.[x - 1] && dark === code[y - 1]?.[x - 1]) sum += 3
    }
  }
  const share = code.flat().filter(Boolean).length / code.length ** 2
  return sum + 10 * Math.floor(Math.abs(share - 0.5) * 20)
}
