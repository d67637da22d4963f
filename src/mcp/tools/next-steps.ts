import type { ApiError } from '../../client/api-error.ts'
import { type Bounds, type ErrorCode, type ErrorSource, errorTable, type Failure } from '../../core/errors.ts'
import { inputParts, type OperationDefinition } from '../../core/operation.ts'
import type { Dependencies as AllDependencies, Api } from '../dependencies.ts'
import { argumentPrefix, listerOf, readerOf } from './id-kinds.ts'
import { operationNamed } from './offered-operations.ts'

/** The parts of a connection that the advice uses: its tools, and the texts on signing in and on reaching the API. */
type Dependencies = Pick<AllDependencies, 'choice'> & { api: Pick<Api, 'personAdvice'> }

/** A call that was refused or failed, and the connection whose tools may help. */
interface Refused {
  dependencies: Dependencies
  operation: OperationDefinition
  error: ApiError | Failure
  /** The id of the person's decision, if the call was made with one. */
  decision?: string | undefined
}

interface Situation extends Refused {
  source: ErrorSource | undefined
  accepts: Bounds | undefined
  /** The phrase that tells the model to call again, such as `call again without decision`. */
  again: string
}

/**
 * Returns the next step for the model. It contains the idempotency key only if the outcome is unknown and the model
 * should repeat exactly the same call. Otherwise, the model must not reuse the key: a corrected call with the key of a
 * refused call would cause a conflict.
 */
export function nextStep(refused: Refused): string {
  const { operation, error } = refused
  const { source, accepts } = error
  const again = refused.decision === undefined ? callAgain(operation) : 'call again without decision'
  const situation = { ...refused, source, accepts, again }
  if ('tooLarge' in error && error.tooLarge && operation.effect === 'read') return afterTooLarge(situation)
  const key = keyToRepeat(error)
  if (key !== undefined)
    return `${beforeRepeat(situation)}${repeatWith(key, refused.decision)}${conflictAdvice(situation)}`
  if ('unreached' in error && error.unreached) return `${refused.dependencies.api.personAdvice.reach} Then ${again}.`
  if ('outcomeUnknown' in error && error.outcomeUnknown) {
    return `The change may have been made: ${look(situation)} before you call again.`
  }
  return (steps[knownCode(error)] ?? steps.invalid_value)(situation)
}

/** Returns the idempotency key if the outcome is unknown and the model should repeat the call unchanged. */
export function keyToRepeat(error: ApiError | Failure): string | undefined {
  if (!('outcomeUnknown' in error) || !error.outcomeUnknown || error.tooLarge) return undefined
  return error.idempotencyKey
}

/**
 * Returns the phrase that advises a new call after a call that may have been carried out. The phrase asks for a new key
 * if the server would otherwise return the recorded answer.
 */
function callAsNew(operation: OperationDefinition): string {
  return operation.adds === true ? 'call again with a new idempotencyKey' : callAgain(operation)
}

/** Returns the phrase that advises a new call after a refusal. The new call must not reuse the refused call's key. */
export function callAgain({ idempotency }: OperationDefinition): string {
  return idempotency === 'required' ? 'call again without idempotencyKey' : 'call again'
}

function afterTooLarge({ operation, dependencies }: Situation): string {
  return operation.result === 'page' ? 'Call again with a smaller limit.' : dependencies.api.personAdvice.reach
}

const repeatWith = (key: string, decision: string | undefined) =>
  `${decision === undefined ? `Repeat this call unchanged with idempotencyKey ${JSON.stringify(key)}` : byDecision(decision)}: it is safe; nothing happens twice.`

const byDecision = (decision: string) => `Call again with decision ${JSON.stringify(decision)}`

/** Returns what to do before the call is repeated, such as signing in. */
function beforeRepeat({ dependencies, error }: Situation): string {
  if ('unreached' in error && error.unreached) return `${dependencies.api.personAdvice.reach} Then: `
  if (error.status === 401) return `${dependencies.api.personAdvice.signIn} Then: `
  if (error.status === 403) return `${ask} When they have granted it: `
  return waitAdvice(error)
}

/**
 * Returns advice in case the repeated call conflicts too. In some deployments, the same error may mean that an earlier
 * request is still running or that the call conflicts with the current state.
 */
function conflictAdvice(situation: Situation): string {
  if (situation.error.status !== 409) return ''
  return ` If it conflicts again, ${look(situation)}. To make a new attempt, ${callAsNew(situation.operation)}.`
}

const ask = 'Tell the person who owns the account what is missing: only they can grant it.'

function waitAdvice({ retryAfterSeconds }: ApiError | Failure): string {
  return retryAfterSeconds === undefined ? '' : `Wait ${retryAfterSeconds} s. `
}

/** The advice for each error code. It mentions a tool, an argument or a value that helps. */
const steps = {
  invalid_value: ({ operation, source, accepts, again, dependencies }) => {
    const name = argumentNameOf(source)
    if (name === undefined || isHeader(source)) return `Correct the arguments and ${again}.`
    if (accepts?.maximum !== undefined && accepts.maximum < 1) {
      return `No ${name} is accepted now: ${look({ dependencies, operation })}. Do not repeat this call unchanged.`
    }
    return sentence([correction({ operation, name, accepts })], again)
  },
  missing_instance_id: () =>
    'Tell the person to set PAYMENTS_INSTANCE_ID (--instance-id) to a string of 1 to 1024 characters and to restart this server.',
  'wire.beneficiary_address_required': ({ again }) =>
    `Add beneficiary.address (line1, city, state, postalCode, country) and ${again}.`,
  unauthenticated: ({ dependencies, again }) => `${dependencies.api.personAdvice.signIn} Then ${again}.`,
  forbidden: ({ dependencies }) =>
    `${ask}${offers(dependencies, 'whoami') ? ' whoami shows whom this connection acts as.' : ''} Do not call again before that.`,
  issued_cards_not_enabled: () =>
    'Tell the person that their organization has to enable issued cards. Do not call again before that.',
  not_found: ({ dependencies, operation, source, again }) => {
    const name = argumentNameOf(source) ?? Object.keys(operation.params?.shape ?? {}).at(-1)
    const lister = name === undefined ? undefined : listerOf(dependencies, argumentPrefix(operation, name))
    const where = lister === undefined ? 'Ask the person for the right' : `Call ${lister} to find the right`
    const customer = takes(operation, 'customerPartyId') ? " (with customerPartyId if it is a customer's)" : ''
    return `${where} ${name ?? 'id'}${customer}, and ${again}.`
  },
  conflict: (situation) => {
    const { operation, source, accepts, again, dependencies } = situation
    if (isHeader(source))
      return `${capital(look(situation))} to see what the earlier call did. To make this call, ${again}.`
    const name = argumentNameOf(source)
    if (name === undefined) return `${capital(look(situation))} and decide again. Do not repeat this call unchanged.`
    if (accepts?.maximum !== undefined) return fundingAdvice(dependencies, name, accepts.maximum, again)
    const lister = listerOf(dependencies, argumentPrefix(operation, name))
    return `Choose another ${name}${lister === undefined ? '' : ` (${lister})`} and ${again}.`
  },
  card_purchase_simulation_not_allowed: (situation) =>
    `${capital(look(situation))}: an authorized purchase can be captured, reversed or expired once; a captured one can be refunded.`,
  mfa_required: ({ again, decision }) =>
    `Give the person the address for the verification; when they say that they have verified, ${decision === undefined ? again : `call again with decision ${JSON.stringify(decision)}`}. Do not open it yourself.`,
  rate_limited: ({ error }) => `${waitAdvice(error) || 'Wait a minute. '}Then make this call again.`,
  server_error: (situation) =>
    `${capital(look(situation))} to be sure that nothing was done, then ${callAsNew(situation.operation)}, once. If it fails again, tell the person the supportId.`,
  not_implemented: ({ operation }) =>
    `Use another tool: ${operation.name} is not available in this deployment. Do not call it again.`,
  bad_gateway: ({ dependencies, again }) => `${dependencies.api.personAdvice.reach} Then ${again}.`,
  service_unavailable: ({ error, again }) => `${waitAdvice(error) || 'Wait a moment. '}Then ${again}.`,
} as const satisfies Record<ErrorCode, (situation: Situation) => string>

/** Returns the error's code or, if this package doesn't know it, a known code with the same HTTP status. */
function knownCode({ code, status }: ApiError | Failure): ErrorCode {
  if (Object.hasOwn(errorTable, code)) return code as ErrorCode
  const alike = Object.entries(errorTable).find(([, entry]) => entry.status === status)?.[0]
  return (alike as ErrorCode | undefined) ?? (status >= 500 || status === 408 ? 'service_unavailable' : 'invalid_value')
}

function fundingAdvice(dependencies: Dependencies, name: string, maximum: number, again: string): string {
  const fund = offers(dependencies, 'fund_sandbox_wallet')
    ? 'put money in with fund_sandbox_wallet (customerId: your own partyId from whoami)'
    : 'ask the person to put money in'
  if (maximum < 1) return `${capital(fund)}, then ${again}.`
  return `${capital(correction({ name, accepts: { maximum } }))} and ${again}; or first ${fund}.`
}

interface Correction {
  operation?: OperationDefinition
  /** The name of the argument, or the dotted path of a nested field. */
  name: string
  accepts: Bounds | undefined
}

/** Returns a phrase such as `correct amount, at most 4250,`, or `correct or leave out …` for an optional argument. */
export function correction({ operation, name, accepts }: Correction): string {
  const optional = operation !== undefined && isOptional(operation, name) ? 'correct or leave out' : 'correct'
  const { minimum, maximum } = accepts ?? {}
  if (maximum === undefined) return `${optional} ${name}${minimum === undefined ? '' : `, at least ${minimum},`}`
  return `${optional} ${name}, ${minimum === undefined ? `at most ${maximum}` : `${minimum} to ${maximum}`},`
}

/** Joins the corrections and the advice to call again into one sentence. */
export function sentence(corrections: readonly string[], again: string): string {
  return `${capital(corrections.join('; '))} and ${again}.`
}

/** Returns a phrase such as `call get_payment`, with the tool that shows the current state. */
function look({ dependencies, operation }: Pick<Situation, 'dependencies' | 'operation'>): string {
  const reader = readerOf(dependencies, operation)
  return reader === undefined ? 'ask the person for the current state' : `call ${reader}`
}

/** Returns the name of the tool's argument that the error's source points to; undefined if there is none. */
function argumentNameOf(source: ErrorSource | undefined): string | undefined {
  if (source === undefined || 'header' in source) return undefined
  if ('parameter' in source) return source.parameter
  const path = /^\/data\/(?:attributes|relationships)\/(.+)$/.exec(source.pointer)?.[1]
  return path?.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
}

function isHeader(source: ErrorSource | undefined): boolean {
  return source !== undefined && 'header' in source
}

const offers = (dependencies: Dependencies, tool: string) => operationNamed(dependencies.choice, tool) !== undefined
const takes = (operation: OperationDefinition, name: string) =>
  inputParts.some((part) => operation[part]?.shape[name] !== undefined)
const isOptional = (operation: OperationDefinition, name: string) =>
  inputParts.some((part) => operation[part]?.shape[name]?.safeParse(undefined).success === true)
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
