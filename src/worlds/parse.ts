import { type ParsedFile, parsedFile } from './parse-file.ts'
import { type World, worldSchema } from './schema.ts'

/**
 * A world, of the text of its file or of the object that such a file would hold (docs/sandbox.md#worlds).
 * @param name the file, as its mistakes name it
 * @throws WorldFileError
 */
export function parseWorld(given: string | object, name: string): World {
  return parseWorldFile(given, name).value
}

/** The same, for whoever fills a database with it: what cannot have happened shows only then. */
export function parseWorldFile(given: string | object, name: string): ParsedFile<World> {
  return parsedFile(given, name, worldSchema)
}
