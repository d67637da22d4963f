import { foreignName } from '../../../../core/foreign-text.ts'

/** Returns the text to show for a status from the API, such as `marked paid` for `marked_paid`. */
export const statusText = (status: string) => status.replaceAll('_', ' ').toLowerCase()

/** Returns the tone of a status. The tone determines the color. */
export function toneOf(status: string): 'good' | 'open' | 'bad' | 'over' {
  if (/^(active|captured|completed|paid|marked_paid|approved)$/i.test(status)) return 'good'
  if (/^(authorized|open|pending|pending_claim|processing|in_review|scheduled|trial|frozen)$/i.test(status))
    return 'open'
  if (/^(declined|failed|missed|past_due|returned|denied|suspended)$/i.test(status)) return 'bad'
  return 'over'
}

export const merchantName = (name: string) => foreignName(name, 'A merchant without a readable name')

export const walletName = (name: string | null) => foreignName(name ?? '', 'A wallet without a name')

/** The lists of the money page that can have more than one page of rows. */
export type ListName = 'cards' | 'purchases' | 'payments' | 'transfers' | 'requests' | 'asked'

/** The list that continues from a cursor, if there is one. All other lists show their first page. */
export interface ListPage {
  list?: string
  cursor?: string
}

/** Returns the address from which the money page requests one of its parts. */
export const partAddress = (part: 'waiting' | 'wallets' | 'lists', page: ListPage = {}): string =>
  `/console/money?${new URLSearchParams({ part, ...page })}`
