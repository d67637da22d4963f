import { money } from '../core/money.ts'
import type { Goal } from './goal.ts'
import { maskText } from './mask.ts'
import { amountsIn } from './mentions.ts'
import type { Question } from './results.ts'
import type { Scenario } from './scenario.ts'

/** The name of the tool with which an agent asks the person. */
export const askTool = 'ask_person'

/** The maximum number of questions that are recorded in one trial. Later questions still get a reply. */
const maxQuestions = 20
const maxQuestionLength = 1_000

/** Maps words in the names of facts to synonyms, separated by `|`. A question may use a synonym instead of the word. */
const synonyms: Readonly<Record<string, string>> = {
  size: 'fit',
  budget: 'spend|limit|maximum|at most|how much may|how much can|price range',
  price: 'cost|how much',
  amount: 'how much',
  quantity: 'how many|number of',
  color: 'colour|shade',
  recipient: 'who|whom|payee|handle|which person',
  payee: 'who|whom|recipient|handle|which person',
  shop: 'store|merchant|where should|where shall|where do',
  product: 'item|which one|what should|what shall',
  customer: 'which customer|whose|on whose behalf',
  date: 'when|which day|deadline',
  address: 'where to|ship to|deliver',
}

const secrets =
  /\b(?:card (?:number|details)|cvv|cvc|security code|passwords?|passcode|pin(?: code)?|api keys?|secret(?: key)?|access token|one-time (?:code|password)|otp|verification code)\b/i

const amounts = /budget|price|amount|limit|maximum|cost|total|fee|deposit/i

/**
 * The simulated person's replies to an agent's questions. The facts in a reply are found by matching words, without a
 * model, so the same question always gets the same reply.
 */
export class Questions {
  readonly asked: Question[] = []
  readonly #scenario: Pick<Scenario, 'task' | 'person' | 'goal'>

  constructor(scenario: Pick<Scenario, 'task' | 'person' | 'goal'>) {
    this.#scenario = scenario
  }

  /** Returns the person's reply, and records the question. */
  ask(rawQuestion: string): Question {
    const text = rawQuestion.trim().slice(0, maxQuestionLength)
    const found = this.#replyTo(text)
    const question = { ...found, question: maskText(text) }
    if (this.asked.length < maxQuestions) this.asked.push(question)
    return question
  }

  #replyTo(text: string): Omit<Question, 'question'> {
    if (secrets.test(text)) return { kind: 'secret', reply: 'I never share that with anybody.' }
    const { task, person, goal } = this.#scenario
    const relevantFacts = Object.entries(person.knows)
      .filter(([name, fact]) => isAbout(text, name, topicsOf(fact)))
      .map(([name, fact]) => factText(name, fact))
    const isInTask =
      relevantFacts.length === 0
        ? goal !== undefined && isAnsweredByGoal(text, goal)
        : relevantFacts.every((fact) => states(task, fact))
    if (isInTask) return { kind: 'told', reply: 'I already said that: see the task.' }
    if (relevantFacts.length > 0) return { kind: 'known', reply: relevantFacts.join(', ') }
    return { kind: 'unknown', reply: 'I know nothing more about that.' }
  }
}

/**
 * Returns the response with the person's reply: the result of the tool call with this id, or plain JSON if there is no
 * id.
 */
export function replyTo({ kind, reply }: Question, id: unknown): Response {
  const outcome = { reply, known: kind === 'known' }
  if (id === undefined) return Response.json(outcome)
  const result = { resultType: 'complete', content: [{ type: 'text', text: reply }], structuredContent: outcome }
  return Response.json({ jsonrpc: '2.0', id, result })
}

const tool = {
  name: askTool,
  title: 'Ask the person',
  description:
    'Asks the person who gave you the task one question. Ask only for information that you need and that neither the task nor the tools give. Never ask for secrets such as codes, passwords or card numbers.',
  inputSchema: {
    type: 'object',
    properties: { question: { type: 'string', description: 'One question, in plain words' } },
    required: ['question'],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
}

/**
 * Adds `ask_person` to a response that has the last page of a list of tools. Such a response is JSON or a stream of
 * events.
 */
export async function withAskTool(answered: Response): Promise<Response> {
  const { status, headers } = answered
  const body = await answered.text()
  const added = new Headers(headers)
  added.delete('content-length')
  const text = body.replace(/\{.*"tools":\[.*\}/, (message) => JSON.stringify(withTool(JSON.parse(message))))
  return new Response(text === '' ? null : text, { status, headers: added })
}

function withTool(message: { result?: { tools?: unknown[]; nextCursor?: unknown } }) {
  const { result } = message
  if (result?.tools === undefined || result.nextCursor !== undefined) return message
  return { ...message, result: { ...result, tools: [...result.tools, tool] } }
}

type Fact = Scenario['person']['knows'][string]

const topicsOf = (fact: Fact) => (typeof fact === 'object' ? fact.about : [])

function factText(name: string, fact: Fact): string {
  const value = typeof fact === 'object' ? fact.says : fact
  return typeof value === 'number' && amounts.test(name) ? money(value) : String(value)
}

/** Returns whether a question contains a fact's name, a synonym of a word in that name, or an entry of `about`. */
function isAbout(question: string, name: string, about: readonly string[]): boolean {
  const words = wordsOf(name)
  const others = words.split(' ').flatMap((word) => synonyms[word]?.split('|') ?? [])
  return [words, ...others, ...about].some((one) => hasWords(question, one))
}

/** Returns the words of a name in lower case: `deliveryDate` becomes "delivery date". */
export const wordsOf = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])|[_-]/g, ' ').toLowerCase()

function hasWords(text: string, words: string): boolean {
  const normalizedText = (one: string) =>
    ` ${one
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}@]+/gu, ' ')
      .trim()} `
  return normalizedText(text).includes(normalizedText(words))
}

/** Returns whether the task already states a fact. */
function states(task: string, fact: string): boolean {
  const [amount] = amountsIn(fact)
  return amount === undefined ? hasWords(task, fact) : amountsIn(task).some(({ cents }) => cents === amount.cents)
}

const questionPatterns = {
  shop: /\b(?:which|what) (?:shop|store|merchant)\b|\bwhere (?:should|shall|do) (?:i|we) (?:buy|order|get)\b/i,
  product:
    /\b(?:which|what) (?:products?|items?|articles?)\b|\bwhat (?:should i|shall i|should we|shall we|do you want me to|would you like me to) (?:buy|order|get)\b/i,
  budget: /\bbudget\b|\bhow much (?:may|can|could|should) (?:it cost|i spend|we spend)\b|\bspending limit\b/i,
  amount: /\b(?:which|what)(?: is the)? amount\b|\bhow much (?:should|shall|do) i (?:pay|send|transfer)\b/i,
  to: /\bwho(?:m)? (?:should|shall|do) i (?:pay|send|transfer)\b|\b(?:which|what)(?: is the| is their)? (?:handle|recipient|payee)\b/i,
  quantity: /\bhow many\b|\b(?:which|what)(?: is the)? quantity\b/i,
} as const

/** Returns whether a question asks for something that the goal, and therefore also the task, already states. */
function isAnsweredByGoal(question: string, goal: NonNullable<Scenario['goal']>): boolean {
  if (/\b(?:instead|else|other|another|alternatives?)\b/i.test(question)) return false
  const asks = (what: keyof typeof questionPatterns, value: unknown) =>
    value !== undefined && !/\{\w+\}/.test(String(value)) && questionPatterns[what].test(question)
  if (goal.do === 'several')
    return asks('budget', goal.atMost) || goal.steps.some((step) => isAnsweredByGoal(question, step))
  if (goal.do === 'pay') return asks('to', goal.to) || asks('amount', goal.amount)
  if (goal.do !== 'buy') return false
  const [first] = goal.items
  const quantity = first !== undefined && first.quantity > 1 ? first.quantity : undefined
  return (
    asks('shop', goal.shop) ||
    asks('product', goal.items.map(({ product }) => product.replace(/\{\w+\}/g, '')).join('') || undefined) ||
    asks('budget', goal.atMost) ||
    asks('quantity', quantity)
  )
}

/** Returns the question at the end of an answer; undefined if the answer does not end with a question. */
export function lastQuestion(answer: string): string | undefined {
  const text = answer.trim().replace(/["”*_)\s]+$/, '')
  if (!text.endsWith('?')) return undefined
  return text.split(/(?<=[.!?:])\s+|\n+/).at(-1)
}

/**
 * Returns the names of the facts that a goal leaves open with placeholders such as `{size}`. Only the person knows
 * these facts.
 */
export function missingIn(goal: Goal): string[] {
  return [...new Set([...JSON.stringify(goal).matchAll(/\{([a-z]\w*)\}/g)].map(([, name = '']) => name))]
}

/** Replaces each `{name}` in a goal with the person's reply about that fact, if there is a reply. */
export function completedGoal(goal: Goal, replies: ReadonlyMap<string, string>): Goal {
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/\{([a-z]\w*)\}/g, (found, name) => replies.get(name) ?? found)
    if (Array.isArray(value)) return value.map(fill)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one)]))
  }
  return fill(goal) as Goal
}

/** Returns the facts that the goal leaves open, in the person's words, keyed by the name of the fact. */
export function missingFacts(goal: Goal, { knows }: Scenario['person']): Map<string, string> {
  const openFacts = Object.entries(knows).filter(([name]) => missingIn(goal).includes(name))
  return new Map(openFacts.map(([name, fact]) => [name, factText(name, fact)]))
}
