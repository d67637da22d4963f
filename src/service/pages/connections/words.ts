import { foreignName } from '../../../core/foreign-text.ts'
import type { Connection } from '../../oauth/connections.ts'
import { type ApplicationWords, applicationWords } from '../frame/application-words.ts'
import { spendingWords } from '../frame/spending-words.ts'
import { momentOf } from '../frame/texts.ts'

/** The text about a connected application on the page that lists them. Plain text, not HTML. */
export interface ConnectionWords {
  grantId: string
  application: ApplicationWords
  /** Whether the application signs in by itself, without a user. */
  signsInItself: boolean
  /** The identity provider that signs the application's agents in; null if there is none. */
  identityProvider: string | null
  /** The agent's name; null if the application acts as the user. */
  actsAs: string | null
  /** The amount that the agent can spend; null if the application acts as the user. */
  spending: string | null
  permissions: Connection['permissions']
  since: string
  lastUsed: string
}

export function connectionWords(connection: Connection): ConnectionWords {
  const { grantId, clientId, clientName, signsInItself, identityProvider, agentName, spending } = connection
  const { permissions, createdAtMs, lastUsedAtMs } = connection
  return {
    grantId,
    application: applicationWords({ id: clientId, name: clientName }),
    signsInItself,
    identityProvider: identityProvider === null ? null : foreignName(identityProvider, 'an unknown address', 200),
    actsAs: agentName === null ? null : foreignName(agentName, 'An agent without a name', 100),
    spending: spending === null ? null : spendingWords(spending),
    permissions,
    since: momentOf(createdAtMs),
    lastUsed: lastUsedAtMs === null ? 'Never' : momentOf(lastUsedAtMs),
  }
}

export interface StatusWords {
  title: string
  text: string
  isProblem: boolean
}

/** The messages at the top of the page, by the outcome of the person's last action. */
export const statusWords = {
  revoked: {
    title: 'Disconnected',
    text: 'The application is disconnected. Its requests are refused from now on.',
    isProblem: false,
  },
  narrowed: {
    title: 'Saved',
    text: 'The permissions are saved. To restore a permission, connect the application again.',
    isProblem: false,
  },
  none_kept: {
    title: 'Error',
    text: 'Nothing was saved. Keep at least one permission, or disconnect the application.',
    isProblem: true,
  },
} as const satisfies Record<string, StatusWords>

export type Done = keyof typeof statusWords

export function isDone(name: string | undefined): name is Done {
  return name !== undefined && Object.hasOwn(statusWords, name)
}
