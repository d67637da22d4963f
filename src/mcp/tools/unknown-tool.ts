import { operationsByName } from '../../../tools/index.ts'
import { show } from '../../core/errors.ts'
import { toolsets } from '../../core/operation.ts'
import { closestWords } from '../../core/spelling.ts'
import type { Dependencies } from '../dependencies.ts'
import { operationsOf } from './offered-operations.ts'

/** Explains why a tool cannot be called. If only a different toolset offers the tool, says how to get that toolset. */
export function explainUnknownTool({ choice, api }: Dependencies, name: string): string {
  const operation = operationsByName.get(name)
  const others = operationsOf(choice).map((candidate) => candidate.name)
  if (operation === undefined) {
    return `Unknown tool: ${show(name)}. The closest names are ${closestWords(name, others, 3).join(', ')}.`
  }
  const { environment, readOnly } = choice
  if (!operation.environments.includes(environment)) {
    return `Unknown tool: ${name} exists only in ${operation.environments.join(' and ')}, and this connection is to ${environment}.`
  }
  if (!operation.toolsets.some((toolset) => choice.toolsets.includes(toolset))) {
    const [toolset] = operation.toolsets
    const widerToolsets = toolsets.filter((candidate) => choice.toolsets.includes(candidate) || candidate === toolset)
    return `Unknown tool: ${name} is in the toolset ${toolset}, which this connection does not offer: ${api.personAdvice.offer(widerToolsets)}`
  }
  if (readOnly) return `Unknown tool: ${name} does more than read, and this connection only reads.`
  return `Unknown tool: ${name} is not available with the credential or settings of this connection.`
}
