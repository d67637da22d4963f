import type { Icon } from '@modelcontextprotocol/server'
import type { Toolset } from '../../core/operation.ts'
import { iconSvg, markPath } from '../../display/mark.ts'

/** The server's icon: the product's logo, a card. */
export const serverIcons: Icon[] = icon(markPath)

/** The tools' icons, by toolset. Each icon is a single path on a 16 × 16 grid. */
export const toolsetIcons: Record<Toolset, Icon[]> = {
  default: serverIcons,
  payments: icon('M1 6h10V3l4 5-4 5v-3H1z'),
  accounts: icon('M8 1l7 4v1H1V5zM2 7h2v5H2zM5 7h2v5H5zM9 7h2v5H9zM12 7h2v5h-2zM1 13h14v2H1z'),
  events: icon('M9 1L3 9h4l-1 6 7-9H8z'),
  customers: icon('M8 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM2 14c0-7 12-7 12 0z'),
  agents: icon('M7 1h2v3h5v10H2V4h5zM5 7v2h2V7zM9 7v2h2V7z'),
  credentials: icon('M5 4a4 4 0 1 1-1 8 4 4 0 0 1 1-8zM8 7h7v4h-2V9H8z'),
  shops: icon('M2 2h12l1 4a2 2 0 0 1-3 1 2 2 0 0 1-4 0 2 2 0 0 1-4 0 2 2 0 0 1-3-1zM3 9h10v5H9v-3H6v3H3z'),
  sandbox: icon('M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1zM7 4v5h4V7H9V4z'),
}

/** Builds an icon as a data URL, so that hosts need not fetch it. */
function icon(path: string): Icon[] {
  return [{ src: `data:image/svg+xml,${encodeURIComponent(iconSvg(path))}`, mimeType: 'image/svg+xml', sizes: ['any'] }]
}
