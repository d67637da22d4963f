import type { SignIn } from '../../oauth/sign-in.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { ToolResultOf } from '../../rules/runs.ts'

/** The dependencies of every page. */
export interface PageDependencies extends Pick<Dependencies, 'environment' | 'publicUrl' | 'store' | 'system' | 'log'> {
  signIn: SignIn
  /** Renders the tool result that the model saw in a run. The MCP server provides this function. */
  toolResultOf?: ToolResultOf | undefined
}
