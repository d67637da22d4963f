import type { Environment, OperationDefinition, Toolset } from '../../core/operation.ts'
import { permissions } from '../../core/permissions.ts'

/** Which operations are offered as tools, and how. */
export interface ToolChoice {
  environment: Environment
  /** All of them when it is left out. */
  toolsets?: readonly Toolset[] | undefined
  /** Whom the credential acts as, where that is known: tools that its policy never allows are not offered. */
  actor?: 'agent' | 'party' | 'user' | undefined
  /** Offers no tool that changes anything. */
  readOnly?: boolean | undefined
  /** What the credential allows besides (the scopes of a token); asked anew for each list and call. */
  allows?: ((operation: Pick<OperationDefinition, 'permission'>) => boolean) | undefined
  /** Whether card numbers are answered, or shown to the person only. `reveal` when it is left out. */
  cardDetails?: 'reveal' | 'masked' | undefined
}

/** What of an operation decides whether it is offered. */
export type Offerable = Pick<OperationDefinition, 'environments' | 'permission' | 'effect' | 'reveals' | 'toolsets'>

/** Whether the connection can get the operation's answer at all, as a tool or otherwise. */
export function mayCall({ environment, actor, allows }: ToolChoice, operation: Offerable): boolean {
  return operation.environments.includes(environment) && mayEver(operation, actor) && (allows?.(operation) ?? true)
}

/** Whether it is among the tools that were asked for. */
export function isChosen(choice: ToolChoice, operation: Offerable): boolean {
  const { toolsets, readOnly } = choice
  return (
    (toolsets?.some((toolset) => operation.toolsets.includes(toolset)) ?? true) &&
    (readOnly !== true || onlyReads(operation))
  )
}

/** Whether a host may call it unasked. */
export const onlyReads = ({ effect, reveals }: Pick<OperationDefinition, 'effect' | 'reveals'>) =>
  effect === 'read' && reveals !== true

/** Whether the policy of such a credential can allow it; an API key may have any scopes, which are not known here. */
function mayEver({ permission }: Offerable, actor: ToolChoice['actor']): boolean {
  const { agent, apiKeyScope } = permissions[permission]
  if (actor === undefined) return true
  // A user may do all that is not for agents only.
  return actor === 'agent' ? agent : apiKeyScope !== null
}
