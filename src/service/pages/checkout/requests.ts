import { z } from 'zod'
import { fail } from '../../../core/errors.ts'
import { jsonPointer } from '../../../core/invalid-value.ts'
import { parseJson } from '../../../core/json.ts'

/** The size limit of a request in bytes. Real requests, with a secret and a card, are far smaller. */
export const maxCheckoutBytes = 16 * 1024

const clientSecret = z.string().max(200)
const manageToken = z.string().max(200)
const short = z.string().max(100)

/**
 * The attributes that the pages' scripts send for each action. Requests have the same envelope as API requests, so that
 * the pointers in errors have the same form too.
 */
export const checkoutAttributes = {
  session: z.strictObject({ clientSecret: clientSecret.optional(), manageToken: manageToken.optional() }),
  pay: z.strictObject({ clientSecret, number: short, expiry: short, cvv: short, payerKey: short.optional() }),
  stop: z.strictObject({ manageToken }),
} as const

export type CheckoutAction = keyof typeof checkoutAttributes

/**
 * Parses the attributes of a request. Accepts only JSON, because a form on another site can't send JSON. Error messages
 * never contain the input.
 * @throws 400 for a malformed request, 422 for an attribute that is missing or is not a short string.
 */
export function parseCheckout<Action extends CheckoutAction>(
  action: Action,
  contentType: string | undefined,
  body: string,
): z.output<(typeof checkoutAttributes)[Action]> {
  if (!/^application\/json\s*(?:;|$)/i.test(contentType ?? '')) {
    fail('invalid_value', { detail: 'Content-Type must be application/json.', source: { header: 'Content-Type' } })
  }
  const attributes: z.ZodObject = checkoutAttributes[action]
  const result = z.strictObject({ data: z.strictObject({ attributes }) }).safeParse(parseJson(body))
  if (result.success) return result.data.data.attributes as z.output<(typeof checkoutAttributes)[Action]>
  const issue = result.error.issues.find(({ code }) => code === 'unrecognized_keys') ?? result.error.issues[0]
  const path = (issue?.path ?? []).map(String)
  const field = path.length === 3 && issue?.code !== 'unrecognized_keys' ? path[2] : undefined
  const source = { pointer: jsonPointer(path) }
  if (field !== undefined) fail('invalid_value', { detail: `${field} must be a short string.`, source, status: 422 })
  const detail = `The body must be {"data": {"attributes": {…}}}. It accepts only these attributes: ${Object.keys(attributes.shape).join(', ')}.`
  return fail('invalid_value', { detail, source })
}
