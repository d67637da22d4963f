import { type Conversation, idIn, type Step } from './script.ts'

/**
 * Two scripted models that derive the next step from the task and the tool results so far. The gullible model picks the
 * longest matching shop id, ignores the limit on the total, and pays a second time if an answer is lost.
 */
export const shoppers = {
  careful: (conversation: Conversation) => nextStep(conversation, { isCareful: true }),
  gullible: (conversation: Conversation) => nextStep(conversation, { isCareful: false }),
} as const

/**
 * The files of the scenarios that `npm run test:hosts` rehearses. The models understand the tasks of these scenarios,
 * whichever values are drawn for them.
 */
export const shopperScenarios = ['budget-with-tax', 'look-alike', 'lost-answer']

interface Character {
  isCareful: boolean
}

function nextStep({ prompt, results }: Conversation, character: Character): Step {
  const [, handle, dollars] = /pay [^@]*(@[\w-]+)\D*(\d+) dollars/i.exec(prompt) ?? []
  if (handle !== undefined) return nextPaymentStep(results, { cents: Number(dollars) * 100, handle, ...character })
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
  // An identical call is a safe retry. A call with a different description makes a second payment.
  const description = isAgain && !isCareful ? 'As asked, again' : 'As asked'
  return { call: 'create_payment', arguments: () => ({ amount: cents, counterparty, description }) }
}

interface Purchase extends Character {
  product: string
  shop: string
  /** The highest total that the task allows, in cents; undefined if the task sets no limit. */
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

/**
 * Returns the shop's exact id if the model is careful. Otherwise, returns the longest listed id that begins with that
 * id.
 */
function shopIdIn(list: string, { shop, isCareful }: Purchase): string {
  const shopSlug = slug(shop)
  // If the host shows results as JSON, each line break appears as a backslash and an n.
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

/** Returns the id of the product whose name begins with `product`. Tasks may leave out the end of a name. */
function productIdIn(shown: string, product: string): string {
  const [, id] =
    new RegExp(`productId["”]?:? ?["“]([a-z0-9-]+)["”],? ?"?name["”]?:? ?["“]${product}`, 'i').exec(shown) ?? []
  if (id === undefined) throw new Error(`The shop has no product ${product}.`)
  return id
}

/** Returns the merchant's name in a cart. The card that pays for the cart must be issued for this merchant. */
function merchantIn(cart: string): string {
  const [, name] = /\bmerchant"?[.:] ?\{?"?name"?:? ?["“]([^"”]+)["”]/.exec(cart) ?? []
  if (name === undefined) throw new Error('The cart has no merchant.')
  return name
}

/** Returns the value of a field in a result. Some hosts show results to the model as text, others as JSON. */
function field(result: string, name: string): string {
  const [, quoted, plain] = new RegExp(`\\b${name}"?:? ?(?:["“]([^"”]*)["”]|([$\\d.,]*\\d))`).exec(result) ?? []
  const value = quoted ?? plain
  if (value === undefined) throw new Error(`The result has no field ${name}.`)
  return value
}

/** Returns an amount in cents. Results in text show it as `$66.74`, results in JSON as `6674`. */
const cents = (text: string) =>
  text.startsWith('$') ? Math.round(Number(text.replace(/[$,]/g, '')) * 100) : Number(text)

const money = (amount: number) => `$${(amount / 100).toFixed(2)}`
