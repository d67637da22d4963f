import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

/** A response body that is built once and served often, uncompressed or as gzip. */
export interface CompressedBody {
  plain: Uint8Array<ArrayBuffer>
  gzipped: Uint8Array<ArrayBuffer>
}

export async function compress(plain: Uint8Array<ArrayBuffer>): Promise<CompressedBody> {
  return { plain, gzipped: await promisify(gzip)(plain, { level: constants.Z_BEST_COMPRESSION }) }
}

/**
 * Returns the gzipped body if the client accepts gzip, and the plain body otherwise, with the headers for that body.
 */
export function bodyFor({ plain, gzipped }: CompressedBody, acceptEncoding = '') {
  const vary = { Vary: 'Accept-Encoding' }
  if (!acceptsGzip(acceptEncoding)) return { body: plain, headers: vary }
  return { body: gzipped, headers: { ...vary, 'Content-Encoding': 'gzip' } }
}

function acceptsGzip(accepted: string): boolean {
  return accepted.split(',').some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(coding))
}
