import type { ListToolsResult, Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { agentCards } from '../../../tools/agent-cards.ts'
import {
  answersList,
  type Environment,
  hasEffectPerCall,
  type OperationDefinition,
  onlyReads,
} from '../../core/operation.ts'
import { pageOf } from '../answers/list-page.ts'
import { maskedCardDetails } from '../answers/masked-card.ts'
import { shownSchema } from '../answers/withheld-attributes.ts'
import type { Dependencies, OfferedChoice } from '../dependencies.ts'
import { toolsetIcons } from './icons.ts'
import { inputSchema, mergeNull, takesDecision } from './inputs.ts'
import { operationNamed, operationsByTool } from './offered-operations.ts'

/** Returns one page of the tool list. Each tool has its icon and, if its results have a view, the view's address. */
export function toolPage(dependencies: Dependencies, cursor: string | undefined): ListToolsResult {
  const { page, ...next } = pageOf(toolList(dependencies.choice), ({ name }) => name, cursor)
  return { tools: page.map((tool) => withIcons(dependencies, tool)), ...next }
}

function withIcons(dependencies: Dependencies, tool: Tool): Tool {
  const icons = toolsetIcons[operationNamed(dependencies.choice, tool.name)?.toolsets[0] ?? 'default']
  const _meta = dependencies.ui.toolMeta(tool.name)
  return _meta === undefined ? { ...tool, icons } : { ...tool, icons, _meta }
}

/** Returns the tools that a connection offers. */
export function toolList(choice: OfferedChoice): Tool[] {
  const operations = operationsByTool(choice)
  let tools = cache.get(operations)
  if (tools === undefined) {
    tools = [...operations.values()].map((operation) => toolOf(withDescription(operation, choice.cardDetails), choice))
    cache.set(operations, tools)
  }
  return tools.filter(({ name }) => {
    const operation = operations.get(name)
    return operation !== undefined && choice.allows(operation)
  })
}

/** The tools built from each map of operations. For equal choices, `operationsByTool` returns the same map. */
const cache = new WeakMap<ReadonlyMap<string, OperationDefinition>, Tool[]>()

/**
 * Returns the operation. If card numbers are masked, the tool that shows card details gets another description and no
 * cvv in its output.
 */
function withDescription(
  operation: OperationDefinition,
  cardDetails: OfferedChoice['cardDetails'],
): OperationDefinition {
  if (cardDetails !== 'masked' || operation.name !== agentCards.getAgentCardDetails.name) return operation
  return { ...operation, ...maskedCardDetails }
}

/** Builds the MCP tool for an operation. */
function toolOf(operation: OperationDefinition, choice: OfferedChoice): Tool {
  const { environment } = choice
  const { name, title, effect, environments } = operation
  const isRepeatable = !hasEffectPerCall(operation)
  return {
    name,
    title,
    description: descriptionFor(operation, environment),
    inputSchema: inputSchema(operation, takesDecision(choice, operation)),
    outputSchema: outputSchema(operation),
    annotations: {
      readOnlyHint: onlyReads(operation),
      // An operation that sets a state destroys the previous state. Operations that exist only in the sandbox are
      // simulations and destroy nothing.
      destructiveHint:
        effect === 'destructive' || (effect === 'write' && isRepeatable && environments.includes('production')),
      // The repeat guard does not make a tool idempotent: it remembers calls only for a while (PAYMENTS_REPEAT_WINDOW).
      idempotentHint: isRepeatable,
      // The sandbox contacts nothing outside itself.
      openWorldHint: effect !== 'read' && environment === 'production',
    },
  }
}

/**
 * Returns the tool's description. If the tool moves money, the text says whether the money is real, because some hosts
 * do not pass the server's instructions to the model.
 */
function descriptionFor(
  { description, instanceId, environments }: OperationDefinition,
  environment: Environment,
): string {
  const movesMoney = instanceId === 'agents' && environments.includes('production')
  return movesMoney ? `${description} ${stakes[environment]}` : description
}

const stakes = { sandbox: 'No real money.', production: 'Real money.' } as const

type Json = Record<string, unknown>

/**
 * Returns the schema of a tool's results, with almost no required fields and no enums. A deployed API may use other
 * fields or statuses than the catalogue, and clients refuse a result that breaks the schema. They must never refuse the
 * result of a payment.
 */
function outputSchema(operation: OperationDefinition): NonNullable<Tool['outputSchema']> {
  const resource = lenientSchema(z.toJSONSchema(shownSchema(operation.output)) as Json)
  const identified = { ...resource, required: ['type', 'id'] }
  const data = operation.result === 'oneOrNull' ? { ...identified, type: ['object', 'null'] } : identified
  return {
    type: 'object',
    properties: {
      data: answersList(operation) ? { type: 'array', items: data } : data,
      meta: { type: 'object' },
      ...(operation.idempotency === 'required' ? { replayed } : {}),
      ...(operation.adds === true ? { repeated } : {}),
    },
    required: ['data'],
  }
}

const replayed = { type: 'boolean', description: 'The answer to an earlier call with this idempotencyKey' }

const repeated = {
  type: 'object',
  description: 'The answer to an equal earlier call; nothing was done now',
  properties: { at: { type: 'string' }, next: { type: 'string' } },
}

/** The JSON Schema keywords that `lenientSchema` copies unchanged. */
const copiedKeywords = ['type', 'const', 'description'] as const

function lenientSchema(schema: Json): Json {
  const either = schema.anyOf as Json[] | undefined
  if (either !== undefined) {
    const variants = either.map(lenientSchema)
    return mergeNull(variants) ?? { anyOf: variants }
  }
  const plainSchema: Json = {}
  for (const keyword of copiedKeywords) if (schema[keyword] !== undefined) plainSchema[keyword] = schema[keyword]
  if (schema.items !== undefined) plainSchema.items = lenientSchema(schema.items as Json)
  if (schema.properties !== undefined) {
    const properties = Object.entries(schema.properties as Record<string, Json>)
    plainSchema.properties = Object.fromEntries(properties.map(([name, property]) => [name, lenientSchema(property)]))
  }
  return plainSchema
}
