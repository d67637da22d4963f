import { jsonIn, wordsOf } from '../bodies.ts'
import { maskText } from '../mask.ts'
import { amountsIn } from '../mentions.ts'
import type { Cart, Read } from '../results.ts'

/** The maximum number of facts that are recorded of each kind. If further facts are dropped, `isCut` becomes true. */
const limits = {
  amounts: 600,
  told: 600,
  balances: 600,
  names: 400,
  products: 400,
  texts: 60,
  statuses: 100,
  carts: 40,
}
const longestText = 600
const maxDepth = 12

/** Names of fields with amounts in cents. */
const moneyField =
  /amount|price|total|tax|shipping|otherOrder|captured|refunded|held|available|balance|pending|fee|perTransaction|perDay|perMonth/i
const nameField = /^(?:name|displayName|handle|email|payeeName|holder)$/i
/** Names of fields with ids, timestamps, URLs and the like. Their strings are not read, as they contain no amounts. */
const plainField = /(?:^id|Id|At|[uU]rl|^type|^status|^currency|Key|^now|^number|^cvv|^expiration\w*)$/

export const nothingRead: Read = {
  ...{ amounts: [], told: [], balances: [], names: [], products: [], texts: [], statuses: [], carts: [], counts: {} },
  isCut: false,
}

type Fields = Record<string, unknown>

/**
 * A record of the facts that an agent read, such as amounts, names and statuses. The agent's final answer is checked
 * against this record. Equal responses from the sandbox produce equal records.
 */
export class Reading {
  readonly #seen = {
    ...{ amounts: new Set<number>(), told: new Set<number>(), balances: new Set<number>() },
    ...{ names: new Set<string>(), products: new Set<string>(), texts: new Set<string>(), statuses: new Set<string>() },
  }
  readonly #carts = new Map<string, Cart>()
  readonly #counts: Record<string, number> = {}
  #isCut = false

  /** Records the facts in a response body, which is JSON from the REST API or MCP, a stream of events, or a page. */
  note(body: string): void {
    const messages = jsonIn(body)
    if (messages === undefined) this.#text(wordsOf(body).replace(/&#3[49];|&quot;/g, '"'), true)
    else for (const message of messages) this.#message(message)
  }

  get value(): Read {
    const { amounts, told, balances, names, products, texts, statuses } = this.#seen
    const numbers = (from: Set<number>) => [...from].toSorted((one, other) => one - other)
    return {
      ...{ amounts: numbers(amounts), told: numbers(told), balances: numbers(balances) },
      ...{ names: [...names], products: [...products], texts: [...texts], statuses: [...statuses].toSorted() },
      ...{ carts: [...this.#carts.values()], counts: { ...this.#counts } },
      isCut: this.#isCut,
    }
  }

  #message(message: unknown): void {
    const { result, error, data, errors } = fieldsOf(message)
    const { structuredContent, content, contents } = fieldsOf(result)
    const structured = fieldsOf(structuredContent).data ?? data
    if (structured !== undefined) this.#data(structured)
    else for (const part of [error, errors, content, contents]) this.#allTexts(part)
  }

  #data(data: unknown): void {
    const records = Array.isArray(data) ? data : [data]
    for (const record of records) this.#record(fieldsOf(record))
    if (!Array.isArray(data)) return
    const kind = fieldsOf(records[0]).type
    if (typeof kind === 'string') this.#counts[kind] = Math.max(this.#counts[kind] ?? 0, records.length)
  }

  #record({ type, id, attributes }: Fields): void {
    const fields = fieldsOf(attributes)
    const { status } = fields
    if (typeof status === 'string') this.#add('statuses', maskText(`${String(type)} ${status}`))
    if (type === 'shopCheckout' || type === 'shopOrder') this.#cart(String(id), fields)
    this.#fields(fields, 0)
  }

  /** Records a cart or an order. Replaces an earlier version with the same id. */
  #cart(id: string, { merchant, items, status, orderId, ...cents }: Fields): void {
    const lines = (Array.isArray(items) ? items : []).map((item) => {
      const { name, quantity, price } = fieldsOf(item)
      return { name: maskText(String(name)), quantity: Number(quantity), price: Number(price) }
    })
    const amounts = ['subtotal', 'tax', 'shipping', 'otherOrder', 'total', 'nextTotal'].map((name) => cents[name])
    const maskedCart = { at: maskText(String(fieldsOf(merchant).name)), items: lines }
    const isPaid = status !== 'open' || typeof orderId === 'string'
    const cart = {
      ...maskedCart,
      amounts: amounts.filter((one) => typeof one === 'number' && one > 0) as number[],
      isPaid,
    }
    if (this.#carts.size < limits.carts || this.#carts.has(id)) this.#carts.set(id, cart)
    else this.#isCut = true
  }

  #fields(value: unknown, depth: number, name = ''): void {
    if (depth > maxDepth) return
    if (Array.isArray(value)) {
      for (const inner of value) this.#fields(inner, depth + 1, name === 'products' ? 'products' : name)
      return
    }
    if (typeof value === 'number') this.#number(value, name)
    if (typeof value === 'string' && !plainField.test(name)) this.#string(value, name)
    for (const [field, inner] of Object.entries(fieldsOf(value))) {
      const isProduct = field === 'name' && ('productId' in fieldsOf(value) || name === 'products')
      this.#fields(inner, depth + 1, isProduct ? 'productName' : field)
    }
  }

  #number(value: number, name: string): void {
    if (!Number.isInteger(value) || !moneyField.test(name)) return
    this.#add('amounts', value)
    if (/available|balance/.test(name)) this.#add('balances', value)
  }

  #string(value: string, name: string): void {
    const text = maskText(value.slice(0, longestText)).trim()
    if (text === '') return
    if (name === 'productName') this.#add('products', text.slice(0, 200))
    else if (nameField.test(name) && text.length <= 200) this.#add('names', text)
    this.#text(text, /^(?:message|receipt)$/.test(name))
  }

  /** Records the facts in a string that a third party may have written. Adds the amounts in the string to `told`. */
  #text(source: string, tellsStatus = false): void {
    const text = maskText(source.slice(0, 20 * longestText))
    const amounts = amountsIn(text).filter(
      ({ at, length, isBare }) => !isBare || /\.\d\d$/.test(text.slice(at, at + length)),
    )
    for (const { cents } of amounts) this.#add('told', cents)
    for (const [name] of text.matchAll(addresses)) this.#add('names', name.replace(/\.$/, ''))
    const tells = amounts.length > 0 || /(?<![\w.])@\w|[<[]\/?[a-z]{3,}/i.test(text)
    if (tells && text.length >= 12) this.#add('texts', text.slice(0, longestText))
    if (!tellsStatus) return
    for (const [word] of text.toLowerCase().matchAll(statusWords)) {
      this.#add('statuses', `said ${word}`)
    }
  }

  #allTexts(value: unknown, depth = 0): void {
    if (typeof value === 'string') this.#text(value)
    else if (depth < maxDepth) for (const inner of Object.values(fieldsOf(value))) this.#allTexts(inner, depth + 1)
  }

  #add(kind: Exclude<keyof typeof limits, 'carts'>, item: string | number): void {
    const seen = this.#seen[kind] as Set<string | number>
    if (seen.size < limits[kind]) seen.add(item)
    else if (!seen.has(item)) this.#isCut = true
  }
}

const addresses = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])@[A-Za-z0-9][\w.-]*/g
const statusWords = /\b(?:shipped|dispatched|on its way|delivered|arrived|returned|cancell?ed|refunded)\b/g

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
