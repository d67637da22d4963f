import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'

/** A code of more bytes has modules that cameras no longer tell apart on a small screen. */
const mostBytes = 520

/**
 * The QR code of an address, with the lowest error correction, as a screen needs no more, and the quiet zone that cameras
 * expect. It is black on white also where the page is dark. An address too long for one stands on the page as text only.
 * The library is loaded with the first code: a stdio server starts without it.
 */
export async function qrImage(address: string): Promise<Html> {
  if (Buffer.byteLength(address) > mostBytes) return html``
  const { encode } = await import('uqr')
  const { data, size } = encode(address, { ecc: 'L', border: 4 })
  const squares = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
  return html`<svg class="qr" role="img" aria-label="QR code of the address for the app" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">
<rect width="${size}" height="${size}" fill="#fff"/>
<path d="${squares.join('')}" fill="#000"/>
</svg>`
}
