import { agentCards } from '../../../tools/agent-cards.ts'
import { catalogue } from '../../../tools/index.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { isChosen, mayCall, type OfferedChoice } from '../dependencies.ts'

/** The operations that are tools, in the catalogue's order. */
export function operationsOf(choice: OfferedChoice): OperationDefinition[] {
  return [...offeredBy(choice).values()].filter((operation) => choice.allows(operation))
}

/** The operation that is the tool of this name; undefined when the choice has none, whatever the credential allows. */
export function operationNamed(choice: OfferedChoice, name: string): OperationDefinition | undefined {
  return offeredBy(choice).get(name)
}

/** The operations by the names of their tools, whatever the credential allows. The same choice has the same map. */
export function offeredBy(choice: OfferedChoice): ReadonlyMap<string, OperationDefinition> {
  const { environment, toolsets, actor, readOnly, cardDetails, decides } = choice
  // Whether it decides changes no operation but what its tool takes, which is kept by this map.
  const key = `${environment} ${toolsets} ${actor} ${readOnly} ${cardDetails} ${decides}`
  let offered = kept.get(key)
  if (offered === undefined) {
    const operations = Object.values<OperationDefinition>(catalogue).filter(
      (operation) =>
        mayCall({ environment, actor, allows: () => true }, operation) &&
        isChosen({ toolsets, readOnly }, operation) &&
        !(cardDetails === 'masked' && isForPeople(operation)),
    )
    offered = new Map(operations.map((operation) => [operation.name, operation]))
    kept.set(key, offered)
  }
  return offered
}

/** Made when first asked for and kept: but for what a credential allows, what a choice offers never changes. */
const kept = new Map<string, ReadonlyMap<string, OperationDefinition>>()

/** If card numbers are for the person only, so is the address of a page that shows one. */
const isForPeople = ({ name }: OperationDefinition) => name === agentCards.createAgentCardDetailsPage.name
