import { answeredData } from './steps.ts'
import type { Tools } from './tools.ts'

/**
 * Returns a sentence with the names of all customers.
 * @param onText called with each name, because names are text that other parties wrote
 */
export async function customerReport(
  tools: Tools,
  onText: (text: string) => Promise<void> = async () => {},
): Promise<string> {
  const customers = answeredData(await tools.call('listCustomers', { limit: 100 }), 'Listing the customers')
  const names = customers.map(({ attributes }) => attributes.name)
  for (const name of names) await onText(name)
  return `${names.length} customers: ${names.join(', ')}.`
}
