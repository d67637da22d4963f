import { catalogue } from '../../tools/index.ts'
import type { OperationDefinition } from '../core/operation.ts'

type Offered = Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>

/**
 * Whether an agent under rehearsal may use an operation. What only the sandbox has would let it play others, fund itself or
 * see what goes wrong on purpose: shops and the scenario's person play everybody else. It may buy at the shops, and wait.
 */
export function isOffered({ environments, permission, toolsets }: Offered): boolean {
  return environments.includes('production') || toolsets.includes('shops') || permission === 'clock.use'
}

const withheld = Object.values<OperationDefinition>(catalogue)
  .filter((operation) => !isOffered(operation))
  .map(({ method, path }) => ({ method, path: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`) }))

/** The same of a request to the REST API. */
export function isWithheld(method: string, pathname: string): boolean {
  return withheld.some((one) => one.method === method && one.path.test(pathname))
}
