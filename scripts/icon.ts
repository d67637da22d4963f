import { crc32, deflateSync } from 'node:zlib'

/** Pixels a side: what stores of extensions ask for. */
const side = 512
/** The card of the server's icon (src/mcp/tools/icons.ts), on its field of 16 by 16: left, top, right, bottom. */
const card = [1, 3, 15, 13] as const
const stripe = [1, 5, 15, 7] as const
const colour = [0x6b, 0x7c, 0xff, 0xff] as const

/** The server's icon as a PNG file, for hosts that show no SVG. */
export function iconPng(): Buffer {
  const rows = Array.from({ length: side }, (_, y) => {
    // A row begins with its filter: none.
    const row = Buffer.alloc(1 + side * 4)
    for (let x = 0; x < side; x++) if (isWithin(card, x, y) && !isWithin(stripe, x, y)) row.set(colour, 1 + x * 4)
    return row
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  // Eight bits a channel, and four channels: red, green, blue, opacity.
  header.set([8, 6, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = deflateSync(Buffer.concat(rows), { level: 9 })
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function isWithin([left, top, right, bottom]: readonly [number, number, number, number], x: number, y: number) {
  const unit = side / 16
  return x >= left * unit && x < right * unit && y >= top * unit && y < bottom * unit
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'ascii'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
