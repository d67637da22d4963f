/**
 * The maximum size of a form in bytes. It leaves room for the quantities of 50 products and for the longest note. After
 * URL encoding, each character of the note takes up to nine bytes.
 */
export const maxShopFormBytes = 16 * 1024

/** The maximum length of a note to a shop, in characters. */
export const longestNote = 500

export const maxQuantity = 100

/**
 * Returns the form's idempotency key; undefined if the key is missing or invalid. Because of the key, a form that is
 * submitted twice takes effect only once.
 */
export function keyOf(sent: URLSearchParams): string | undefined {
  const key = sent.get('key') ?? ''
  return /^idk_[0-9a-f]{32}$/.test(key) ? key : undefined
}

/** Returns the quantities that the buyer typed, by product id. */
export function quantitiesOf(sent: URLSearchParams): Map<string, string> {
  const fields = [...sent].filter(([name]) => name.startsWith(quantityPrefix))
  return new Map(fields.map(([name, value]) => [name.slice(quantityPrefix.length), value.trim()]))
}

export const quantityPrefix = 'quantity.'

interface Item {
  productId: string
  quantity: number
}

/** Returns the items to buy. `wrong` lists the ids of the products with an invalid quantity. */
export function itemsOf(quantities: ReadonlyMap<string, string>): { items: Item[]; wrong: string[] } {
  const all = [...quantities].map(([productId, typed]) => ({ productId, quantity: wholeNumber(typed || '0') }))
  const isWrong = ({ quantity }: Item) => !(quantity >= 0 && quantity <= maxQuantity)
  return {
    items: all.filter((item) => item.quantity > 0 && !isWrong(item)),
    wrong: all.filter(isWrong).map(({ productId }) => productId),
  }
}

/** The card data that the buyer typed. It is passed to the payment operation and never stored. */
export interface TypedCard {
  number: string
  cvv: string
  expirationMonth: number
  expirationYear: number
}

export const cardFields = ['number', 'expirationMonth', 'expirationYear', 'cvv'] as const

export type CardField = (typeof cardFields)[number]

/** The messages to show next to invalid fields. They do not repeat the typed values. */
export type Problems = Partial<Record<CardField, string>>

export function cardOf(sent: URLSearchParams): { card: TypedCard; problems: Problems } {
  const typedField = (field: CardField) => (sent.get(field) ?? '').trim()
  const number = typedField('number').replace(/[\s-]/g, '')
  const cvv = typedField('cvv')
  const expirationMonth = wholeNumber(typedField('expirationMonth'))
  const year = wholeNumber(typedField('expirationYear'))
  const problems = {
    ...(/^\d{12,19}$/.test(number) ? {} : { number: 'Type the 12 to 19 digits of the card number.' }),
    ...(expirationMonth >= 1 && expirationMonth <= 12
      ? {}
      : { expirationMonth: 'Type the month as a number from 1 to 12.' }),
    ...((year >= 0 && year <= 99) || (year >= 2000 && year <= 9999)
      ? {}
      : { expirationYear: 'Type the year as four digits, such as 2030.' }),
    ...(/^\d{3,4}$/.test(cvv) ? {} : { cvv: 'Type the 3 or 4 digits of the security code.' }),
  }
  return { card: { number, cvv, expirationMonth, expirationYear: year < 100 ? 2000 + year : year }, problems }
}

/** Returns the total in cents that the page showed to the buyer; undefined if the form contains no valid total. */
export function amountOf(sent: URLSearchParams): number | undefined {
  const amount = wholeNumber(sent.get('amount') ?? '')
  return Number.isNaN(amount) ? undefined : amount
}

/** Parses a whole number of at most 12 digits. Returns NaN for any other string. */
function wholeNumber(typed: string): number {
  return /^\d{1,12}$/.test(typed) ? Number(typed) : Number.NaN
}
