import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { createAgentCardDetailsPage, getAgentCardDetails } from '../../../tools/agent-cards.ts'
import { catalogue } from '../../../tools/index.ts'
import type { Environment, OperationDefinition } from '../../core/operation.ts'
import { shownSchema } from '../answers/withheld.ts'
import { maskedCardDetails } from '../people/card.ts'
import { inputSchema, orNull } from './inputs.ts'
import { isChosen, mayCall, onlyReads, type ToolChoice } from './offered.ts'

/** The operations that are tools, in the catalogue's order. */
export function operationsOf(choice: ToolChoice): OperationDefinition[] {
  return Object.values<OperationDefinition>(catalogue).filter(
    (operation) => mayCall(choice, operation) && isChosen(choice, operation) && !isForPeople(choice, operation),
  )
}

/** Where numbers are for the person only, the address of a page that shows one is not for the model either. */
function isForPeople({ cardDetails }: ToolChoice, { name }: OperationDefinition): boolean {
  return cardDetails === 'masked' && name === createAgentCardDetailsPage.name
}

/** The tool list of a choice. */
export function toolList(choice: ToolChoice): Tool[] {
  const { tools, byName } = surfaceOf(choice)
  const { allows } = choice
  if (allows === undefined) return tools
  return tools.filter(({ name }) => {
    const operation = byName.get(name)
    return operation !== undefined && allows(operation)
  })
}

/** The operation that is the tool of this name; undefined when the choice has none, whatever the credential allows. */
export function operationNamed(choice: ToolChoice, name: string): OperationDefinition | undefined {
  return surfaceOf(choice).byName.get(name)
}

interface Surface {
  tools: Tool[]
  byName: ReadonlyMap<string, OperationDefinition>
}

const surfaces = new Map<string, Surface>()

/** Made when first asked for and kept: but for what a credential allows, what a choice offers never changes. */
function surfaceOf(choice: ToolChoice): Surface {
  const { environment, toolsets, actor, readOnly = false, cardDetails = 'reveal' } = choice
  const key = `${environment} ${toolsets} ${actor} ${readOnly} ${cardDetails}`
  let surface = surfaces.get(key)
  if (surface === undefined) {
    const operations = operationsOf({ environment, toolsets, actor, readOnly, cardDetails })
    const tools = operations.map((operation) => toolOf(offered(operation, cardDetails), environment))
    surface = { tools, byName: new Map(operations.map((operation) => [operation.name, operation])) }
    surfaces.set(key, surface)
  }
  return surface
}

/** The operation as the tool says it: a masked card has another description and no cvv. */
function offered(operation: OperationDefinition, cardDetails: ToolChoice['cardDetails']): OperationDefinition {
  if (cardDetails !== 'masked' || operation.name !== getAgentCardDetails.name) return operation
  return { ...operation, ...maskedCardDetails }
}

/** An operation as an MCP tool. */
function toolOf(operation: OperationDefinition, environment: Environment): Tool {
  const { name, title, effect } = operation
  return {
    name,
    title,
    description: describedFor(operation, environment),
    inputSchema: inputSchema(operation),
    outputSchema: outputSchema(operation),
    annotations: {
      readOnlyHint: onlyReads(operation),
      destructiveHint: effect === 'destructive',
      // Two equal calls are two purchases; only a repeat with the same idempotencyKey is one.
      idempotentHint: onlyReads(operation),
      // In the sandbox nobody outside is reached.
      openWorldHint: effect !== 'read' && environment === 'production',
    },
  }
}

/** Some hosts hand a server's instructions to no model, so what is at stake stands beside what moves money too. */
function describedFor(
  { description, instanceId, environments }: OperationDefinition,
  environment: Environment,
): string {
  const movesMoney = instanceId === 'agents' && environments.includes('production')
  return movesMoney ? `${description} ${stakes[environment]}` : description
}

const stakes = { sandbox: 'Sandbox: no real money.', production: 'Real money.' } as const

type Json = Record<string, unknown>

/**
 * Clients refuse a result that breaks this, so it describes without demanding: a deployed API may send more or less
 * than the catalogue knows, and a payment's result must not be lost over an unknown status.
 */
function outputSchema(operation: OperationDefinition): NonNullable<Tool['outputSchema']> {
  const resource = lenient(z.toJSONSchema(shownSchema(operation.output)) as Json)
  const data = { ...resource, required: ['type', 'id'] }
  return {
    type: 'object',
    properties: {
      data: operation.result === 'one' ? data : { type: 'array', items: data },
      meta: { type: 'object' },
      ...(operation.idempotency === 'required' ? { replayed } : {}),
    },
    required: ['data'],
  }
}

const replayed = { type: 'boolean', description: 'This is the answer of an earlier call with this idempotencyKey' }

/** What is kept of a schema of a response. */
const described = ['type', 'const', 'description'] as const

function lenient(schema: Json): Json {
  const either = schema.anyOf as Json[] | undefined
  if (either !== undefined) {
    const variants = either.map(lenient)
    return orNull(variants) ?? { anyOf: variants }
  }
  const kept: Json = {}
  for (const word of described) if (schema[word] !== undefined) kept[word] = schema[word]
  if (schema.items !== undefined) kept.items = lenient(schema.items as Json)
  if (schema.properties !== undefined) {
    const properties = Object.entries(schema.properties as Record<string, Json>)
    kept.properties = Object.fromEntries(properties.map(([name, property]) => [name, lenient(property)]))
  }
  return kept
}
