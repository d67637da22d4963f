import { type Conversation, idIn, type Step } from './script.ts'

/**
 * Two models that read a task and the results so far, and take the next step. One is careful. The other picks the shop
 * with the most promising name, ignores totals, and pays again if an answer is lost.
 */
export const shoppers = {
  careful: (conversation: Conversation) => nextStep(conversation, { isCareful: true }),
  gullible: (conversation: Conversation) => nextStep(conversation, { isCareful: false }),
} as const

interface Character {
  isCareful: boolean
}

function nextStep({ prompt, results }: Conversation, character: Character): Step {
  const [, dollars, handle = ''] = /pay .*?(\d+) dollars .*(@[\w-]+)/is.exec(prompt) ?? []
  if (dollars !== undefined) return nextPaymentStep(results, { cents: Number(dollars) * 100, handle, ...character })
  const [, product, shop] = /(?:get us|order) the (.+?),? from ([A-Z][\w&]*(?: (?:&|[A-Z]\w*))*)/.exec(prompt) ?? []
  if (product === undefined || shop === undefined) return { say: () => 'I do not understand the task.' }
  const [, limitText] = /(\d+(?:\.\d\d)?) dollars at most/.exec(prompt) ?? []
  return nextPurchaseStep(results, {
    product,
    shop,
    limitCents: limitText === undefined ? undefined : Math.round(Number(limitText) * 100),
    ...character,
  })
}

interface Payment extends Character {
  cents: number
  handle: string
}

function nextPaymentStep(results: readonly string[], { cents, handle, isCareful }: Payment): Step {
  const newest = results.at(-1)
  if (newest?.includes('pay_')) return { say: () => `Paid ${handle} ${money(cents)}.` }
  if (results.length > 2) return { say: () => `Whether ${handle} was paid is not known: ${newest}` }
  const isAgain = results.length > 0
  const counterparty = { type: 'handle', value: handle }
  // An equal call is a retry. Another description makes it a new payment.
  const description = isAgain && !isCareful ? 'As asked, again' : 'As asked'
  return { call: 'create_payment', arguments: () => ({ amount: cents, counterparty, description }) }
}

interface Purchase extends Character {
  product: string
  shop: string
  /** The highest total to pay, in cents. */
  limitCents: number | undefined
}

function nextPurchaseStep(results: readonly string[], purchase: Purchase): Step {
  const { product, shop, limitCents, isCareful } = purchase
  const [list = '', shown = '', cart = '', card = '', details = '', paid = ''] = results
  const shopId = shopIdIn(list, purchase)
  const total = () => cents(field(cart, 'total'))
  const merchant = () => ({ name: merchantIn(cart) })
  const steps: Step[] = [
    { call: 'list_shops', arguments: () => ({}) },
    { call: 'get_shop', arguments: () => ({ shopId }) },
    {
      call: 'start_shop_checkout',
      arguments: () => ({ shopId, items: [{ productId: productIdIn(shown, product), quantity: 1 }], extras: [] }),
    },
    isCareful && limitCents !== undefined && results.length === 3 && total() > limitCents
      ? { say: () => `${shop} asks ${money(total())} in all, more than ${money(limitCents)}. I bought nothing.` }
      : { call: 'issue_agent_card', arguments: () => ({ merchant: merchant(), maximumAmount: total() }) },
    { call: 'get_agent_card_details', arguments: () => ({ cardId: idIn([card], 'pcd') }) },
    {
      call: 'pay_shop_checkout',
      arguments: () => ({
        checkoutId: idIn([cart], 'sco'),
        number: field(details, 'number'),
        cvv: field(details, 'cvv'),
        expirationMonth: Number(field(details, 'expirationMonth')),
        expirationYear: Number(field(details, 'expirationYear')),
        amount: total(),
      }),
    },
    { call: 'get_shop_order', arguments: () => ({ orderId: idIn([paid], 'sor') }) },
    { say: () => `Ordered the ${product} at ${merchant().name} for ${money(total())}.` },
  ]
  return steps[results.length] ?? { say: () => 'Done.' }
}

/** Returns the shop's id if the model is careful, otherwise the longest listed id that begins with it. */
function shopIdIn(list: string, { shop, isCareful }: Purchase): string {
  const shopSlug = slug(shop)
  // If the host shows its model JSON, a line break is two characters.
  const words = list.replaceAll('\\n', ' ')
  const alike = [...words.matchAll(/\b[a-z0-9]+(?:-[a-z0-9]+)+\b/g)]
    .map(([id]) => id)
    .filter((id) => id.startsWith(shopSlug))
  return isCareful ? shopSlug : (alike.toSorted((one, other) => other.length - one.length)[0] ?? shopSlug)
}

const slug = (name: string) =>
  name
    .toLowerCase()
    .replaceAll('&', 'and')
    .replace(/[^a-z0-9]+/g, '-')

/** Returns the id of the product whose name begins with `product`, because people may leave off the end. */
function productIdIn(shown: string, product: string): string {
  const [, id] =
    new RegExp(`productId["”]?:? ?["“]([a-z0-9-]+)["”],? ?"?name["”]?:? ?["“]${product}`, 'i').exec(shown) ?? []
  if (id === undefined) throw new Error(`There is no ${product}.`)
  return id
}

/** Returns the merchant name that a card for this cart needs. */
function merchantIn(cart: string): string {
  const [, name] = /\bmerchant"?[.:] ?\{?"?name"?:? ?["“]([^"”]+)["”]/.exec(cart) ?? []
  if (name === undefined) throw new Error('The cart names no merchant.')
  return name
}

/** Returns a field of a result. Hosts show results to their model as text or as JSON. */
function field(result: string, name: string): string {
  const [, quoted, plain] = new RegExp(`\\b${name}"?:? ?(?:["“]([^"”]*)["”]|([$\\d.,]*\\d))`).exec(result) ?? []
  const value = quoted ?? plain
  if (value === undefined) throw new Error(`There is no ${name}.`)
  return value
}

/** Parses an amount, which is `$66.74` in texts and 6674 in JSON. */
const cents = (text: string) =>
  text.startsWith('$') ? Math.round(Number(text.replace(/[$,]/g, '')) * 100) : Number(text)

const money = (amount: number) => `$${(amount / 100).toFixed(2)}`
