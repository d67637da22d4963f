import { done } from './steps.ts'
import type { Tools } from './tools.ts'

/**
 * What the task wants to know, as the service has it.
 * @param onText is given each text that somebody else wrote.
 */
export async function reported(
  tools: Tools,
  onText: (text: string) => Promise<void> = async () => {},
): Promise<string> {
  const customers = done(await tools.call('listCustomers', { limit: 100 }), 'Listing the customers')
  const names = customers.map(({ attributes }) => attributes.name)
  for (const name of names) await onText(name)
  return `${names.length} customers: ${names.join(', ')}.`
}
