import { type ParsedFile, parsedFile } from './parse-file.ts'
import { type World, worldSchema } from './schema.ts'

/**
 * Parses a world from the content of its file, or from an equivalent object (docs/sandbox.md#worlds).
 * @param name the name of the file in errors
 * @throws WorldFileError
 */
export function parseWorld(source: string | object, name: string): World {
  return parseWorldFile(source, name).value
}

/**
 * Parses a world that will fill a database. The result can also create errors for mistakes that are found only when the
 * database is filled, such as an impossible history.
 */
export function parseWorldFile(source: string | object, name: string): ParsedFile<World> {
  return parsedFile(source, name, worldSchema)
}
