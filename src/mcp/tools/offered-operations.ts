import { agentCards } from '../../../tools/agent-cards.ts'
import { catalogue } from '../../../tools/index.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { isChosen, mayCall, type OfferedChoice } from '../dependencies.ts'

/** Returns the operations that this connection offers as tools, in the order of the catalogue. */
export function operationsOf(choice: OfferedChoice): OperationDefinition[] {
  return [...operationsByTool(choice).values()].filter((operation) => choice.allows(operation))
}

/**
 * Returns the operation of the tool with this name, whether or not the credential allows it. Returns undefined if the
 * choice does not include the tool.
 */
export function operationNamed(choice: OfferedChoice, name: string): OperationDefinition | undefined {
  return operationsByTool(choice).get(name)
}

/** Returns operations by tool name, including those that the credential forbids. Equal choices get the same map. */
export function operationsByTool(choice: OfferedChoice): ReadonlyMap<string, OperationDefinition> {
  const { environment, toolsets, actor, readOnly, cardDetails, offersDecisions } = choice
  // `offersDecisions` is part of the key because it changes the tools' schemas, which are cached for each map.
  const key = `${environment} ${toolsets} ${actor} ${readOnly} ${cardDetails} ${offersDecisions}`
  let offered = cache.get(key)
  if (offered === undefined) {
    const operations = Object.values<OperationDefinition>(catalogue).filter(
      (operation) =>
        mayCall({ environment, actor, allows: () => true }, operation) &&
        isChosen({ toolsets, readOnly }, operation) &&
        !(cardDetails === 'masked' && isForPeople(operation)),
    )
    offered = new Map(operations.map((operation) => [operation.name, operation]))
    cache.set(key, offered)
  }
  return offered
}

/** The operations of each choice. They never change, because callers apply the credential's limits later. */
const cache = new Map<string, ReadonlyMap<string, OperationDefinition>>()

/**
 * Returns whether the operation creates a page that shows a card's number. If numbers are masked, only a person may
 * create such a page.
 */
const isForPeople = ({ name }: OperationDefinition) => name === agentCards.createAgentCardDetailsPage.name
