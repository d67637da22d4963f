import { expect, test } from 'vitest'
import { readableRows } from '../../src/service/pages/console/report/words.ts'
import { cardsFigures, type Purchase } from '../../src/service/rules/run-report.ts'

const card = { id: 'pcd_1', status: 'used', merchantName: 'Books', maximumAmountCents: 5000 }
const approved: Purchase = {
  ...{ id: 'cit_1', cardId: card.id, kind: 'purchase', merchantName: 'Books', status: 'authorized', declineCode: null },
  ...{ amountCents: 3000, heldCents: 3000, capturedCents: 0, refundedCents: 0 },
}

test.each([
  ['a captured purchase within its terms', [], { heldCents: 0, capturedCents: 3000 }],
  ['an uncaptured purchase within its terms', [], {}],
  ['a purchase at another merchant', ['another merchant'], { merchantName: 'BOOKS' }],
  ['a partly captured purchase', ['captured less than authorized'], { heldCents: 0, capturedCents: 2000 }],
  ['a reversed purchase', ['captured less than authorized'], { heldCents: 0, status: 'reversed' }],
  ['only a declined purchase', ['nothing was bought'], { heldCents: 0, status: 'declined' }],
  ['a purchase above the maximum', ['authorized above the maximum'], { amountCents: 5001, heldCents: 5001 }],
  [
    'a captured purchase above the maximum',
    ['authorized above the maximum', 'captured above the maximum'],
    { amountCents: 5001, heldCents: 0, capturedCents: 5001 },
  ],
  ['only a refund', ['nothing was bought'], { kind: 'refund' } as const],
  ['no purchase of its own', ['nothing was bought'], { cardId: 'pcd_2' }],
])('for a card with %s, a report lists the differences %j', (_, differences, change) => {
  const [figures] = cardsFigures([card], [{ ...approved, ...change }])
  expect(figures?.differences).toStrictEqual(differences)
})

test('a section of a report shows at most 500 rows, and states how many more there are', () => {
  const section = (count: number) => ({
    ...{ id: 'rows', title: 'Rows', none: 'None', columns: ['Row'] },
    rows: Array.from({ length: count }, (_, at) => [String(at)]),
  })
  expect(readableRows(section(500))).toStrictEqual({ visibleRows: section(500).rows, more: undefined })
  expect(readableRows(section(502))).toStrictEqual({
    visibleRows: section(500).rows,
    more: '2 more rows are in the JSON file.',
  })
})
