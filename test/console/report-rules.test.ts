import { expect, test } from 'vitest'
import { readableRows } from '../../src/service/pages/console/report/words.ts'
import { cardsFigures, type Purchase } from '../../src/service/rules/run-report.ts'

const card = { id: 'pcd_1', status: 'used', merchantName: 'Books', maximumAmountCents: 5000 }
const approved: Purchase = {
  ...{ id: 'cit_1', cardId: card.id, kind: 'purchase', merchantName: 'Books', status: 'authorized', declineCode: null },
  ...{ amountCents: 3000, heldCents: 3000, capturedCents: 0, refundedCents: 0 },
}

test.each([
  ['as declared', { heldCents: 0, capturedCents: 3000 }, []],
  ['as declared, and not captured yet', {}, []],
  ['at another merchant', { merchantName: 'BOOKS' }, ['another merchant']],
  ['captured in part', { heldCents: 0, capturedCents: 2000 }, ['captured less than authorized']],
  ['reversed', { heldCents: 0, status: 'reversed' }, ['captured less than authorized']],
  ['declined', { heldCents: 0, status: 'declined' }, ['nothing was bought']],
  ['beyond the maximum', { amountCents: 5001, heldCents: 5001 }, ['authorized above the maximum']],
  [
    'captured beyond the maximum',
    { amountCents: 5001, heldCents: 0, capturedCents: 5001 },
    ['authorized above the maximum', 'captured above the maximum'],
  ],
  ['that is a refund', { kind: 'refund' } as const, ['nothing was bought']],
  ['on another card', { cardId: 'pcd_2' }, ['nothing was bought']],
])('a card is compared with a purchase %s', (_, change, differences) => {
  const [figures] = cardsFigures([card], [{ ...approved, ...change }])
  expect(figures?.differences).toStrictEqual(differences)
})

test('rows beyond the limit are only counted', () => {
  const section = (count: number) => ({
    ...{ id: 'rows', title: 'Rows', none: 'None', columns: ['Row'] },
    rows: Array.from({ length: count }, (_, at) => [String(at)]),
  })
  expect(readableRows(section(500))).toStrictEqual({ visibleRows: section(500).rows, more: undefined })
  expect(readableRows(section(502))).toStrictEqual({ visibleRows: section(500).rows, more: '2 more are in the JSON.' })
})
