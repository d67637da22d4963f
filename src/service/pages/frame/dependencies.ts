import type { SignIn } from '../../oauth/sign-in.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { ToolResultOf } from '../../rules/runs.ts'

/** The dependencies of every page. */
export interface PageDependencies extends Pick<Dependencies, 'environment' | 'publicUrl' | 'store' | 'system' | 'log'> {
  signIn: SignIn
  /** Renders what the model saw; only the MCP server knows how. */
  toolResultOf?: ToolResultOf | undefined
}
