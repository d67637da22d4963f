import type { Environment } from '../../core/operation.ts'

/** When a person is asked before a call is carried out. */
export interface ConfirmSettings {
  mode: 'always' | 'production' | 'never'
  /** Payments and cards above it ask, cents. */
  aboveCents: number
}

/** Those of the settings' table: what is left out must not be what asks nobody. */
export const confirmByDefault: ConfirmSettings = { mode: 'production', aboveCents: 10_000 }

/** Whether anything asks a person in this environment. */
export function asksPeople({ mode }: ConfirmSettings, environment: Environment): boolean {
  return mode === 'always' || (mode === 'production' && environment === 'production')
}
