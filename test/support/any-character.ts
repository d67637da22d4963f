import fc from 'fast-check'

/**
 * Any character of Unicode, as the unit of `fc.string`. It draws what the unit `binary` does, which takes 0.6 s to list all of
 * them in each process.
 */
export const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint))
