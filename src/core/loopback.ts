/** The names and addresses of the machine itself, as they stand in an address. */
export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether an address is of the machine that it is opened on. */
export function isLoopback(address: string): boolean {
  return loopbackNames.includes(URL.parse(address)?.hostname ?? '')
}
