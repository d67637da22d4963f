import { crc32, deflateSync } from 'node:zlib'
import { card, stripe } from './mark.ts'
import { markColor } from './tokens.ts'

/** Returns the logo as a square PNG, `side` pixels wide, for clients that cannot show SVG. */
export function markPng(side: number): Buffer {
  const color = [...Buffer.from(markColor.slice(1), 'hex'), 0xff]
  const rows = Array.from({ length: side }, (_, y) => {
    // Each row starts with a filter byte; 0 means no filter.
    const row = Buffer.alloc(1 + side * 4)
    for (let x = 0; x < side; x++) {
      const point = [((x + 0.5) * 16) / side, ((y + 0.5) * 16) / side] as const
      if (isWithin(card, point) && !isWithin(stripe, point)) row.set(color, 1 + x * 4)
    }
    return row
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  // Eight bits per channel, and color type 6: red, green, blue and alpha.
  header.set([8, 6, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = deflateSync(Buffer.concat(rows), { level: 9 })
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

/** Returns the logo as an ICO file: a directory with one entry, followed by a PNG. */
export function markIco(side: number): Buffer {
  const png = markPng(side)
  const directory = Buffer.alloc(22)
  // The directory's header contains the type (1 for icon) and the number of entries. The entry contains the width and
  // height, the color planes, the bits per pixel, and the length and offset of the PNG.
  directory.writeUInt16LE(1, 2)
  directory.writeUInt16LE(1, 4)
  directory.set([side, side], 6)
  directory.writeUInt16LE(1, 10)
  directory.writeUInt16LE(32, 12)
  directory.writeUInt32LE(png.length, 14)
  directory.writeUInt32LE(directory.length, 18)
  return Buffer.concat([directory, png])
}

function isWithin([left, top, right, bottom]: readonly number[], [x, y]: readonly [number, number]): boolean {
  return x >= (left ?? 0) && x < (right ?? 0) && y >= (top ?? 0) && y < (bottom ?? 0)
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'ascii'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
