import type { ListToolsResult, Tool } from '@modelcontextprotocol/server'
import { pageOf } from '../list-page.ts'
import type { Serving } from '../serving.ts'
import { operationNamed, toolList } from './definitions.ts'
import { toolsetIcons } from './icons.ts'

/** A page of the tools, with what a host shows a person beside them: an icon, and the view of the results if there is one. */
export function toolPage(serving: Serving, cursor: string | undefined): ListToolsResult {
  const { page, ...next } = pageOf(toolList(serving), ({ name }) => name, cursor)
  return { tools: page.map((tool) => dressed(serving, tool)), ...next }
}

function dressed(serving: Serving, tool: Tool): Tool {
  const icons = toolsetIcons[operationNamed(serving, tool.name)?.toolsets[0] ?? 'default']
  const _meta = serving.ui?.toolMeta(tool.name)
  return _meta === undefined ? { ...tool, icons } : { ...tool, icons, _meta }
}
