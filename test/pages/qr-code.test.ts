import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { type QrCode, qrCode, qrPath } from '../../src/service/pages/verify/qr-code.ts'

const text = (length: number) => 'otpauth://totp/'.padEnd(length, 'aB3%:')
const art = (code: QrCode) => code.map((row) => row.map((dark) => (dark ? '#' : '.')).join('')).join('\n')
const drawn = (length: number) => art(qrCode(text(length)) ?? [])

test('a QR code is the one that other encoders make', () => {
  expect(drawn(15)).toMatchInlineSnapshot(`
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

// As uqr 0.1.3 draws them with the same mask: versions 7, 10, 13 and 15, whose blocks and patterns differ.
test.each([
  [150, 45, '78df5fdd990ec5fe5425ab62f775a78c66551b2e12585ce97c82bbf82ea377f1'],
  [271, 57, 'f49f8ad79845b80a177c6508438c56dbbe2563179baa4d57f44fb3769a2d2d77'],
  [400, 69, '969511d2bcd2dd320751e602de7737b450cd3e3cf8f66974eaa2f19be0bee347'],
  [520, 77, 'e4526928abe697f99a30351017c05c8ed403a5fc35e95554eeef93ffbaab20a3'],
])('a QR code of %i bytes too', (length, size, hash) => {
  const code = drawn(length)
  expect(code.split('\n')).toHaveLength(size)
  expect(createHash('sha256').update(code).digest('hex')).toBe(hash)
})

test('a longer text has none', () => {
  expect(qrCode(text(521))).toBeUndefined()
})

test('the path has a square for each dark module, inside the quiet zone', () => {
  expect(
    qrPath([
      [true, false],
      [false, true],
    ]),
  ).toEqual({ size: 10, path: 'M4 4h1v1h-1zM5 5h1v1h-1z' })
})
