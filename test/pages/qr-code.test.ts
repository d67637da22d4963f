import { expect, test } from 'vitest'
import { qrImage } from '../../src/service/pages/verify/qr-code.ts'

const addressOf = (length: number) => 'otpauth://totp/'.padEnd(length, 'aB3%:')

/** Returns the QR code's modules row by row, without the quiet zone. `#` is a dark module. */
async function renderedCode(length: number): Promise<string> {
  const image = String(await qrImage(addressOf(length)))
  const size = Number(image.match(/viewBox="0 0 (\d+) \1"/)?.[1])
  const rows = Array.from({ length: size }, () => Array<string>(size).fill('.'))
  for (const [, x, y] of image.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) rows[Number(y)]?.splice(Number(x), 1, '#')
  for (const edge of [...rows.slice(0, 4), ...rows.slice(-4)]) expect(edge.join('')).toBe('.'.repeat(size))
  return rows
    .slice(4, -4)
    .map((row) => row.slice(4, -4).join(''))
    .join('\n')
}

test('the QR code has a quiet zone and the same modules as other encoders produce', async () => {
  expect(await renderedCode(15)).toMatchInlineSnapshot(`
    "#######..#..#.#######
    #.....#..###..#.....#
    #.###.#.##.#..#.###.#
    #.###.#..#..#.#.###.#
    #.###.#...#...#.###.#
    #.....#....#..#.....#
    #######.#.#.#.#######
    ........##.#.........
    ###.#######.###...#..
    #.#..#.##...###.#...#
    ##..#####.###...#.###
    .###.#..#..#.#.#....#
    #..#..##...##....#.#.
    ........#...#.####.##
    #######.######.##.###
    #.....#.##..##.#....#
    #.###.#.#.##...##..#.
    #.###.#..#.##.#.##.#.
    #.###.#.#..###.####.#
    #.....#.#.##.......#.
    #######.######.###.##"
  `)
})

test.each([
  [150, 45],
  [520, 77],
])('the QR code of an address of %i bytes is %i modules wide', async (length, size) => {
  expect((await renderedCode(length)).split('\n')).toHaveLength(size)
})

test('an address of more than 520 bytes has no QR code', async () => {
  expect(String(await qrImage(addressOf(521)))).toBe('')
})
