import { foreignName } from '../../../../core/foreign-text.ts'
import { maskForeignText } from '../../../../core/masking.ts'
import { money } from '../../../../core/money.ts'
import type { Counted, RunReport } from '../../../rules/run-report.ts'

/** The content of a cell. A plain string is the service's own text. `foreign` is untrusted text from outside. */
export type Cell = string | { foreign: string }

/** A section of a report. It has the same content in every format. */
export interface Section {
  id: string
  title: string
  /** The text shown if there are no rows. */
  none: string
  columns: readonly string[]
  /** A note on how to read the figures. */
  note?: string
  /** The indexes of the columns that contain amounts. */
  amounts?: readonly number[]
  rows: readonly (readonly Cell[])[]
}

/** The maximum number of characters to show of an untrusted text. The JSON file contains the whole text. */
const maxCharacters = 200
/** The maximum number of rows to show in a section. The JSON file contains all rows. */
const maxRows = 500

const foreignCell = (text: string | null, otherwise = '–'): Cell =>
  text === null ? otherwise : { foreign: foreignName(maskForeignText(text), otherwise, maxCharacters) }

/** Formats a timestamp for people, in UTC. */
export const moment = (at: string): string => at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')

export function titleOf({ instanceId }: RunReport): string {
  return instanceId === null
    ? 'Run report: calls without an instance id'
    : `Run report: ${foreignName(instanceId, 'a run', 100)}`
}

/** Returns the sections of a report: the run, its money, its decisions, its problems and its activity chain. */
export function sectionsOf(report: RunReport, madeAt: string): Section[] {
  return [run(report, madeAt), ...moneyParts(report), ...peopleParts(report), ...troubleParts(report), chain(report)]
}

/** Returns the notes at the top of a report. The notes state which parts of the run the report does not cover. */
export function missingParts({ calls, evaluated }: RunReport): string[] {
  const { entries, changes, complete } = evaluated
  if (!complete) {
    return [
      `This report covers the first ${entries} entries and ${changes} changes of the run. The command payments-mcp report can cover more.`,
    ]
  }
  if (evaluated.calls >= calls) return []
  return [
    `The entries of ${calls - evaluated.calls} of ${calls} calls were deleted, so the questions, duplicates, faults and refusals of those calls are missing. Everything else comes from other records, such as those of cards and payments.`,
  ]
}

const environments = { sandbox: 'Sandbox: no real money', production: 'Production' } as const

function run(report: RunReport, madeAt: string): Section {
  const { agent, host, totals } = report
  return {
    id: 'run',
    title: 'Run',
    none: '',
    columns: ['Item', 'Value'],
    rows: [
      ['Run', report.runId],
      ['Environment', environments[report.environment]],
      ['Instance id', foreignCell(report.instanceId, 'none')],
      ['Agent', agent === null ? 'none (called by a user or with an API key)' : foreignCell(agent.name, agent.id)],
      ['Program', foreignCell(host, 'unknown')],
      ['From', moment(report.from)],
      ['To', moment(report.to)],
      ['Calls', callsOf(report)],
      ['Reads made for tool calls', String(report.evaluated.toolReads)],
      ['Entries evaluated', `${report.evaluated.entries}, with ${postedIn(report)}`],
      ['Intended on cards', money(totals.intendedCents)],
      ['Authorized', money(totals.authorizedCents)],
      ['Held on cards now', money(totals.heldCents)],
      ['Captured', money(totals.capturedCents)],
      ['Refunded', money(totals.refundedCents)],
      ['Report made', moment(madeAt)],
    ],
  }
}

const callsOf = ({ calls, refused }: RunReport) =>
  refused === 0 ? `${calls}` : `${calls}; ${refused} of them failed (declined, refused, error or no response)`

/** The service cannot know whether two different names belong to the same merchant. */
const exactNames = 'Merchant names are compared exactly: a different spelling counts as a different merchant.'

function moneyParts(report: RunReport): Section[] {
  return [
    {
      id: 'cards',
      title: 'Cards: declared and actual',
      note: exactNames,
      none: 'No cards.',
      columns: [
        'Card',
        'Declared merchant',
        'Actual merchants',
        'Maximum',
        'Authorized',
        'Held',
        'Captured',
        'Refunded',
        'Differences',
      ],
      amounts: [3, 4, 5, 6, 7],
      rows: report.cards.map((card) => [
        card.id,
        foreignCell(card.merchant),
        foreignCell(card.actualMerchants.join(', ') || null),
        ...[card.maximumCents, card.authorizedCents, card.heldCents, card.capturedCents, card.refundedCents].map(
          (cents) => money(cents),
        ),
        card.differences.join(', ') || 'none',
      ]),
    },
    {
      id: 'merchants',
      title: 'By merchant',
      none: 'No purchases.',
      columns: ['Merchant', 'Purchases', 'Declined', 'Authorized', 'Held', 'Captured', 'Refunded'],
      amounts: [1, 2, 3, 4, 5, 6],
      rows: report.merchants.map(({ merchant, purchases, declined, ...sums }) => [
        foreignCell(merchant),
        String(purchases),
        String(declined),
        ...[sums.authorizedCents, sums.heldCents, sums.capturedCents, sums.refundedCents].map((cents) => money(cents)),
      ]),
    },
    {
      id: 'declines',
      title: 'Declined purchases',
      note: exactNames,
      none: 'No purchase was declined.',
      columns: ['Purchase', 'Merchant', 'Amount', 'Reason', 'Card rule violated'],
      amounts: [2],
      rows: report.declines.map(({ id, merchant, amountCents, reason, against }) => [
        ...[id, foreignCell(merchant), money(amountCents), reason ?? '–'],
        against.join(', ') || '–',
      ]),
    },
    ...paymentParts(report),
    {
      id: 'wallets',
      title: 'Balance effect',
      note: 'The amounts that the cards, payments, requests and subscriptions of this run have moved into or out of each wallet so far.',
      none: 'No balance changed.',
      columns: ['Wallet', 'Available', 'Held'],
      amounts: [1, 2],
      rows: report.wallets.map(({ walletId, availableCents, heldCents }) => [
        ...[walletId, money(availableCents), money(heldCents)],
      ]),
    },
  ]
}

function paymentParts({ payments, requests, subscriptions, customers }: RunReport): Section[] {
  return [
    {
      id: 'payments',
      title: 'Payments and transfers',
      none: 'No payments or transfers.',
      columns: ['Payment', 'Kind', 'Status', 'Amount', 'Created', 'Description'],
      amounts: [3],
      rows: payments.map(({ id, kind, status, amountCents, isOwn, description }) => [
        ...[id, kind, status, money(amountCents), createdIn(isOwn), foreignCell(description)],
      ]),
    },
    {
      id: 'requests',
      title: 'Payment requests',
      none: 'No payment requests.',
      columns: ['Request', 'Status', 'Amount', 'Created', 'Description'],
      amounts: [2],
      rows: requests.map(({ id, status, amountCents, isOwn, description }) => [
        ...[id, status, money(amountCents), createdIn(isOwn), foreignCell(description)],
      ]),
    },
    {
      id: 'subscriptions',
      title: 'Subscriptions',
      none: 'No subscriptions.',
      columns: ['Subscription', 'Status', 'Charged', 'Created'],
      amounts: [2],
      rows: subscriptions.map(({ id, status, chargedCents, isOwn }) => [
        ...[id, status, money(chargedCents), createdIn(isOwn)],
      ]),
    },
    {
      id: 'customers',
      title: 'For customers',
      note: 'Calls made in customers’ accounts. Only the customers can see the resulting records. The totals of this report do not include these calls.',
      none: 'No calls for customers.',
      columns: ['Customer', 'Done', 'Refused', 'Cards', 'Intended', 'Payments', 'Amount'],
      amounts: [1, 2, 3, 4, 5, 6],
      rows: customers.map(({ partyId, done, refused, cards, intendedCents, payments, askedCents }) => [
        ...[partyId, String(done), String(refused), String(cards), money(intendedCents)],
        ...[String(payments), money(askedCents)],
      ]),
    },
  ]
}

function postedIn({ postings: { count, sumCents, unbalanced } }: RunReport): string {
  return unbalanced === 0
    ? `${count} ${count === 1 ? 'posting, which' : 'postings, each of which'} sums to zero`
    : `${count} postings; ${unbalanced} of them do not sum to zero (total difference: ${money(sumCents)})`
}

const createdIn = (isOwn: boolean) => (isOwn ? 'in this run' : 'in another run')

function peopleParts(report: RunReport): Section[] {
  return [
    {
      id: 'approvals',
      title: 'Approvals',
      none: 'No approvals.',
      columns: ['Approval', 'Payment', 'Status', 'Decided by', 'Decided via', 'When'],
      rows: report.approvals.map(({ id, paymentId, status, decidedBy, by, decidedAt }) => [
        ...[id, paymentId, status, foreignCell(decidedBy), by ?? '–', decidedAt === null ? '–' : moment(decidedAt)],
      ]),
    },
    {
      id: 'questions',
      title: 'Questions and answers',
      none: 'No questions.',
      columns: ['When', 'Call', 'Answer', 'Question', 'Remark'],
      rows: report.questions.map(({ at, operation, outcome, facts, remark }) => [
        ...[moment(at), operation, outcome, foreignCell(facts.join(' ') || null), foreignCell(remark)],
      ]),
    },
  ]
}

function troubleParts({ environment, repeats, faults, refusals }: RunReport): Section[] {
  const ofSandbox = countSection('faults', 'Faults of the sandbox', 'No fault hit a call of this run.', 'Fault', faults)
  return [
    countSection('repeats', 'Duplicates prevented', 'No duplicate calls.', 'Outcome', repeats),
    ...(environment === 'sandbox' ? [ofSandbox] : []),
    countSection('refusals', 'Refusals', 'No refusals.', 'Code', refusals),
  ]
}

function countSection(id: string, title: string, none: string, columnTitle: string, rows: readonly Counted[]): Section {
  return {
    id,
    title,
    none,
    columns: [columnTitle, 'Call', 'Times'],
    amounts: [2],
    rows: rows.map(({ what, operation, count }) => [what, operation, String(count)]),
  }
}

function chain({ chain: { rows, first, last } }: RunReport): Section {
  return {
    id: 'chain',
    title: 'Activity chain',
    none: 'The run changed nothing, so it has no activity entries.',
    columns: ['Entry', 'Number', 'Hash'],
    rows:
      first === null || last === null
        ? []
        : [
            ['First', String(first.sequence), first.hash],
            ['Last', `${last.sequence} (${rows} entries from first to last)`, last.hash],
          ],
  }
}

/** Returns the rows to show. If rows are left out, also returns a note that states their number. */
export function readableRows({ rows }: Section): { visibleRows: Section['rows']; more: string | undefined } {
  if (rows.length <= maxRows) return { visibleRows: rows, more: undefined }
  return { visibleRows: rows.slice(0, maxRows), more: `${rows.length - maxRows} more rows are in the JSON file.` }
}
