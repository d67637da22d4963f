import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'

/** The maximum length of a URL in bytes. The QR code of a longer URL is too dense to scan from a small screen. */
const maxBytes = 520

/**
 * Renders the QR code of a URL, with the white border that scanners need. Returns empty HTML if the URL is too long.
 * The lowest error correction is enough for a screen. The code is black on white even in dark mode. The library is
 * loaded on first use, so starting a stdio server does not load it.
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
