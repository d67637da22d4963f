/** A string that contains a secret. */
export interface SecretSample {
  name: string
  text: string
  /** The part of the secret that must not be stored or shown anywhere. */
  secret: string
}

const number = '4242424242424242'
const password = 'correct-horse-battery'
const key = 'sk_ntl_sandbox_Zk9aB3xY7qLm2NpRt5UvWc8'
const token = `eyJ${'hbGciOi'.repeat(3)}.${'x'.repeat(20)}.${'y'.repeat(20)}`

const groups = (between: string) => `4242${between}4242${between}4242${between}4242`
const group = (name: string, text: string) => ({ name, text, secret: '4242' })

/** Secrets in every form that a masker once missed, and in similar forms. */
export const secretTexts: readonly SecretSample[] = [
  group('a card number', number),
  group('a card number with its expiry and code run together', `${number}1230123`),
  group('a card number after other digits', `99${number}`),
  ...[' ', '-', '.', ',', '=', ':', '+', '/', ', ', '","', ') (', ' = '].map((between) =>
    group(`a card number in groups joined by ${JSON.stringify(between)}`, groups(between)),
  ),
  group('a card number in groups in parentheses', '(4242) (4242) (4242) (4242)'),
  { name: 'an American Express number in groups', text: '3782,822463,10005', secret: '822463' },
  group('a card number in groups after an unrelated group', `1234 ${groups(':')}`),
  { name: 'a card number in base64', text: Buffer.from(number).toString('base64'), secret: 'NDI0MjQyNDI0MjQyNDI0Mg' },
  {
    name: 'JSON with a card number in base64',
    text: Buffer.from(JSON.stringify({ number })).toString('base64'),
    secret: Buffer.from(JSON.stringify({ number })).toString('base64').slice(4, 30),
  },
  ...['cvv 123', 'cvn: 123', 'cid=123', 'card_cvc 123', 'cardCvv: 123', 'cvvCode = 123', 'security code is 123'].map(
    (text) => ({ name: text, text: text.replace('123', '9183'), secret: '9183' }),
  ),
  ...['verificationCode', 'card_verification_value'].map((name) => ({
    name: `${name} as JSON`,
    text: `"${name}":"9183"`,
    secret: '9183',
  })),
  ...['sandboxPassword', 'apiSecret', 'API_SECRET', 'client_secret', 'agentKey'].flatMap((name) => [
    { name: `${name} assigned`, text: `${name}=${password}`, secret: password },
    { name: `${name} as JSON`, text: `{"${name}": "${password}"}`, secret: password },
    { name: `${name} assigned in a JSON string`, text: `{"note": "${name}=${password}"}`, secret: password },
  ]),
  { name: 'a password in a URL', text: `https://ann:${password}@shop.example/x`, secret: password },
  { name: 'an API key', text: key, secret: 'Zk9aB3xY7q' },
  { name: 'an API key in capitals', text: key.toUpperCase(), secret: 'ZK9AB3XY7Q' },
  { name: 'a webhook secret', text: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', secret: 'MfKQ9r8GKY' },
  { name: 'a JSON Web Token', text: token, secret: 'yyyyyyyy' },
  { name: 'a bearer token', text: 'Bearer abcdef.ghijkl', secret: 'abcdef.ghijkl' },
  { name: 'basic credentials', text: 'Basic YW5uOmNvcnJlY3QtaG9yc2U=', secret: 'YW5uOmNvcnJlY3Q' },
]

const digits = (between: string) => [...number].join(between)

/** Card numbers that only `withoutCardNumbers`, the masker for untrusted text, recognizes. */
export const disguisedNumbers: readonly SecretSample[] = [
  { name: 'digits joined by zero-width spaces', text: digits('\u200b'), secret: '4\u200b2\u200b4\u200b2' },
  { name: 'digits joined by dots', text: digits('.'), secret: '4.2.4.2' },
  { name: 'digits joined by dashes', text: digits(' – '), secret: '4 – 2 – 4 – 2' },
  { name: 'full-width digits', text: '４２'.repeat(8), secret: '４２４２' },
  { name: 'Arabic digits in groups', text: Array(4).fill('٤٢٤٢').join('-'), secret: '٤٢٤٢' },
  { name: 'a number inside a word', text: `Shop${number}x`, secret: '4242' },
]

/** Names of fields whose values must be masked. */
export const secretNames: readonly string[] = [
  ...['cvv', 'CVC', 'cvn', 'cid', 'csc', 'cvv2', 'pin', 'cardPin', 'pan', 'card_cvc', 'cardCvv', 'cvvCode', 'number'],
  ...['verificationCode', 'card_verification_value', 'securityCode', 'accountNumber', 'sandboxPassword', 'apiSecret'],
  ...['clientSecret', 'agentKey', 'apiKey', 'API_KEY', 'x-api-key', 'accessToken', 'TOKEN', 'authorization'],
  ...['cookie', 'Set-Cookie', 'codeVerifier', 'idtoken', 'proxyauthorization'],
]

/** Field names that resemble names of secrets, but whose values must stay readable. */
export const harmlessNames: readonly string[] = [
  ...['idempotencyKey', 'publicKey', 'formToken', 'keyId', 'agentKeyPrefix', 'tokenType', 'tokenCount', 'company'],
  ...['shipping', 'acid', 'keyboard', 'expand', 'pinned', 'amount', 'merchantName', 'status'],
]

/** Strings that resemble secrets, but must stay readable. */
export const harmlessTexts: readonly string[] = [
  'pay_0198a1b2c3d40123456789abcdef0123',
  '550e8400-e29b-41d4-a716-446655440000',
  '2026-11-24T08:45:26.123Z',
  '2026-03-02 09:00:01, $69.00, $22.00 and $36.00, 6 to 8 days',
  'order 2026-118842-7',
  '$1,234,567.89',
  '1000, 2000, 3000, 4000, 5000',
  '+1 415 555 0123',
  'a placid 100 and an acid 123',
  'the password must have 12 letters',
  'idempotencyKey=idk_abcdefghijkl',
  'Bearer <API key>',
  'https://shop.example:8443/path?page=2',
  'mail ann@example.com',
  'the security code of 12 letters',
]
