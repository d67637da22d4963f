import type { SignIn } from '../../oauth/sign-in.ts'
import type { Dependencies } from '../../request/pipeline.ts'

/** The dependencies of every page. */
export interface PageDependencies extends Pick<Dependencies, 'environment' | 'publicUrl' | 'store' | 'system' | 'log'> {
  signIn: SignIn
}
