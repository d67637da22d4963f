import type { WorldParty, WorldShape } from './shape.ts'

/** A part of the file: what it is for, in whole sentences, and how it is written. */
interface Part {
  says: string
  yaml: string
  /** It is commented out in the file. To use it, remove the #. */
  isExample?: true
}

/**
 * A commented world file, which `payments-mcp init` writes. Each field of a party has its part here: what is not said of a
 * new one does not compile, and a test starts with all of them.
 * @param whole with the examples as parts, for that test
 */
export function worldTemplate(file: string, whole = false): string {
  const world = Object.values(head).map((part) => written(part, '', whole))
  const acme = Object.values(firstParty).map((part) => written(part, '    ', whole))
  return [introduction(file), ...world, `${parties}\n`, ...acme, otherParties].join('\n')
}

function written({ says, yaml, isExample }: Part, indent: string, whole: boolean): string {
  const mark = isExample === true && !whole ? '# ' : ''
  const lines = [
    ...wrapped(says, 100 - indent.length).map((line) => `# ${line}`),
    ...yaml.split('\n').map((line) => mark + line),
  ]
  return `${lines.map((line) => indent + line).join('\n')}\n`
}

function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last.length + word.length + 1 > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

const introduction = (file: string) => `# A world: all that the payments sandbox holds when it begins.
#
#   payments-mcp serve --world ${file === '-' ? 'world.yaml' : file} --database-url sqlite::memory:
#
# Amounts are cents: 2500 is $25.00. Times are 2026-01-31T09:00:00Z, 2026-01-31, or counted from the
# sandbox's clock: -3d, +2h, -45m. Ids and secrets may be chosen, and are made where they are not.
# What stands behind a # is not read: take the # away from an example that you want.
# docs/worlds.md of the package tells every field.
`

const head = {
  name: { says: 'The name by which a start tells of this world.', yaml: 'name: My world' },
  clock: {
    says: 'The clock of the sandbox begins at this time. Without this line it begins at the real time.',
    yaml: 'clock: 2026-01-31T09:00:00Z',
    isExample: true,
  },
  rehearsal: {
    says: 'In a rehearsal no agent resets the sandbox, or sees and changes what fails on purpose.',
    yaml: 'rehearsal: true',
    isExample: true,
  },
  shops: {
    says: "Which of the package's shops are open, and shops of your own. Without it all of the package's are.",
    yaml: 'shops: [plain-goods]',
    isExample: true,
  },
} satisfies Record<Exclude<keyof WorldShape, 'parties'>, Part>

const parties = `# Parties have accounts. The first one manages the sandbox. Each key is a name of this file, by which
# the rest of it says who is meant.
parties:
  acme:`

const firstParty = {
  id: {
    says: 'An id may be fixed, of a party as of everything else.',
    yaml: 'id: pty_00000000000000000000000000000001',
    isExample: true,
  },
  type: { says: 'ORG is an organization, PERSON a person.', yaml: 'type: ORG' },
  displayName: { says: 'People see this name.', yaml: 'displayName: Acme' },
  email: { says: 'It is paid and invited by its address, phone number or handle.', yaml: 'email: office@acme.example' },
  phone: { says: 'A phone number has its country in front.', yaml: "phone: '+14155550123'", isExample: true },
  handle: { says: 'A handle is written without its @.', yaml: 'handle: acme' },
  profile: {
    says: 'What else is known of it: get_party tells it.',
    yaml: 'profile: { legalName: Acme Inc., addressCity: Austin, addressCountry: US }',
    isExample: true,
  },
  compliance: {
    says: 'Its compliance case; approved, rejected, or on the way.',
    yaml: 'compliance: approved',
    isExample: true,
  },
  status: {
    says: 'With SUSPENDED nothing leaves it.',
    yaml: 'status: ACTIVE',
    isExample: true,
  },
  issuedCardsEnabled: {
    says: 'With false no cards are issued on its wallets.',
    yaml: 'issuedCardsEnabled: true',
    isExample: true,
  },
  limits: {
    says: 'A payment beyond the limits of the party waits for an approval.',
    yaml: 'limits: { perTransaction: 500000, perDay: 1000000 }',
    isExample: true,
  },
  createdAt: { says: 'It joined at this time.', yaml: 'createdAt: -90d', isExample: true },
  users: {
    says: 'Users sign in. The start makes a password for the first owner unless there is one here.',
    yaml: 'users:\n  olga: { name: Olga Owner, email: olga@acme.example, role: OWNER }',
  },
  wallets: {
    says: 'Wallets hold money. The balance is what can be spent when the world begins.',
    yaml: 'wallets:\n  main: { displayName: Main wallet, balance: 250000 }\n  savings: { displayName: Savings, balance: 1000000 }',
  },
  agents: {
    says: 'Agents act for the party, within their limits, on the wallets that they are given. A key has the secret that it is given here, or one that serve tells.',
    yaml: `agents:
  shopper:
    description: Buys what the office needs.
    limits: { perTransaction: 20000, perMonth: 100000 }
    wallets:
      main: {}
    keys:
      main: {}`,
  },
  apiKeys: {
    says: 'API keys act as the party itself.',
    yaml: 'apiKeys:\n  backend: {}',
  },
  customers: {
    says: 'Other parties that let an agent of this one act for them, and what they allow.',
    yaml: 'customers:\n  ann: { agent: shopper, limits: { perTransaction: 5000 } }',
  },
  invitations: {
    says: 'Invitations that were sent to become such a customer.',
    yaml: 'invitations:\n  - { to: bob@people.example, agent: shopper, status: PENDING }',
    isExample: true,
  },
  invitationLinks: {
    says: 'Links by which anybody becomes one.',
    yaml: 'invitationLinks:\n  site: { name: Our site, proposedAgents: { shopper: {} } }',
    isExample: true,
  },
  cards: {
    says: 'Cards, and what merchants tried on them.',
    yaml: `cards:
  - agent: shopper
    merchant: Example Store
    maximumAmount: 5000
    issuedAt: -2d
    expiresAt: -1d
    purchases:
      - { amount: 4250, at: -47h, status: captured }`,
    isExample: true,
  },
  payments: {
    says: 'Payments to parties of this file, or to an address that nobody here has.',
    yaml: `payments:
  - { to: ann, amount: 1500, description: Flowers, at: -3d }
  - { to: eve@people.example, amount: 900, status: PENDING_CLAIM }`,
    isExample: true,
  },
  wires: {
    says: 'Money that was sent to accounts at banks.',
    yaml: `wires:
  - amount: 12000
    beneficiary: { name: Paper Mill, accountNumber: '000123456789', routingNumber: '021000021' }
    status: PROCESSING`,
    isExample: true,
  },
  deposits: {
    says: 'Money that came from outside.',
    yaml: 'deposits:\n  - { amount: 30000, at: -10d }',
    isExample: true,
  },
  internalTransfers: {
    says: 'Money that was moved between wallets of the party.',
    yaml: 'internalTransfers:\n  - { from: savings, to: main, amount: 5000, at: -1d }',
    isExample: true,
  },
  subscriptions: {
    says: 'Payers pay the party by subscriptions. One that was begun in the past has been charged since.',
    yaml: `subscriptions:
  - { description: Support, amount: 2900, paidAt: -70d, card: approves }`,
    isExample: true,
  },
} satisfies Record<Exclude<keyof WorldParty, 'ref'>, Part>

const otherParties = `  ann:
    type: PERSON
    displayName: Ann
    email: ann@people.example
    wallets:
      main: { balance: 100000 }
`
