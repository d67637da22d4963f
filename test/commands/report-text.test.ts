import { expect, test } from 'vitest'
import { asPlainText } from '../../src/commands/report.ts'

async function* parts() {
  yield 'Paid at \\<b\\>Plain\\_Goods\\<\\/b\\>: \\$36\\.00 '
  yield 'C:\\\\folder\n'
}

test('a report on a terminal shows foreign text without the backslashes that Markdown needs', async () => {
  let shown = ''
  for await (const part of asPlainText(parts())) shown += part
  expect(shown).toBe('Paid at <b>Plain_Goods</b>: $36.00 C:\\folder\n')
})
