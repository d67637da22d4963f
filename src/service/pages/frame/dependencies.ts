import type { SignIn } from '../../oauth/sign-in.ts'
import type { Dependencies } from '../../request/pipeline.ts'

/** What every page is given at the start. */
export interface PageDependencies extends Pick<Dependencies, 'environment' | 'publicUrl' | 'store' | 'system' | 'log'> {
  signIn: SignIn
}
