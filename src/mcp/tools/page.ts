import type { ListToolsResult, Tool } from '@modelcontextprotocol/server'
import { pageOf } from '../answers/list-page.ts'
import type { Dependencies } from '../dependencies.ts'
import { operationNamed, toolList } from './definitions.ts'
import { toolsetIcons } from './icons.ts'

/** A page of the tools, with what a host shows a person beside them: an icon, and the view of the results if there is one. */
export function toolPage(dependencies: Dependencies, cursor: string | undefined): ListToolsResult {
  const { page, ...next } = pageOf(toolList(dependencies), ({ name }) => name, cursor)
  return { tools: page.map((tool) => dressed(dependencies, tool)), ...next }
}

function dressed(dependencies: Dependencies, tool: Tool): Tool {
  const icons = toolsetIcons[operationNamed(dependencies, tool.name)?.toolsets[0] ?? 'default']
  const _meta = dependencies.ui?.toolMeta(tool.name)
  return _meta === undefined ? { ...tool, icons } : { ...tool, icons, _meta }
}
