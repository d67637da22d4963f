import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'

/** The most bytes of an address. In a larger code, the squares would be too small to scan from a small screen. */
const maxBytes = 520

/**
 * Renders the QR code of an address, with the quiet zone that cameras expect; empty if the address is too long. The
 * lowest error correction is enough for a screen. The code is black on white even if the page is dark. The library is
 * loaded for the first code, so a stdio server starts without it.
 */
export async function qrImage(address: string): Promise<Html> {
  if (Buffer.byteLength(address) > maxBytes) return html``
  const { encode } = await import('uqr')
  const { data, size } = encode(address, { ecc: 'L', border: 4 })
  const squares = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
  return html`<svg class="qr" role="img" aria-label="QR code of the address for the app" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">
<rect width="${size}" height="${size}" fill="#fff"/>
<path d="${squares.join('')}" fill="#000"/>
</svg>`
}
