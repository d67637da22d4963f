import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/**
 * The files of Swagger UI that its page loads. The build copies them next to the code; in a checkout they come from
 * npm.
 */
export const viewerFiles = ['swagger-ui-bundle.js', 'swagger-ui.css'] as const

export type ViewerFile = (typeof viewerFiles)[number]

export async function readViewerFile(name: ViewerFile): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await readFile(new URL(`./viewer/${name}`, import.meta.url)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return new Uint8Array(await readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))))
  }
}
