import { agentCards } from '../../../tools/agent-cards.ts'
import { catalogue } from '../../../tools/index.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { isChosen, mayCall, type OfferedChoice } from '../dependencies.ts'

/** Lists the operations that are tools, in the catalogue's order. */
export function operationsOf(choice: OfferedChoice): OperationDefinition[] {
  return [...operationsByTool(choice).values()].filter((operation) => choice.allows(operation))
}

/**
 * Returns the operation of the tool with this name, even if the credential does not allow it; undefined if the choice
 * has no such tool.
 */
export function operationNamed(choice: OfferedChoice, name: string): OperationDefinition | undefined {
  return operationsByTool(choice).get(name)
}

/** Returns the operations by tool name, even those that the credential does not allow. Equal choices share one map. */
export function operationsByTool(choice: OfferedChoice): ReadonlyMap<string, OperationDefinition> {
  const { environment, toolsets, actor, readOnly, cardDetails, offersDecisions } = choice
  // `offersDecisions` is part of the key: it changes the tools' arguments, and their schemas are cached for each map.
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

/** Cached on first use: except for the credential's limits, a choice always offers the same operations. */
const cache = new Map<string, ReadonlyMap<string, OperationDefinition>>()

/**
 * Returns whether the operation creates a page that shows a card's number. If numbers are masked, only a person may
 * create such a page.
 */
const isForPeople = ({ name }: OperationDefinition) => name === agentCards.createAgentCardDetailsPage.name
