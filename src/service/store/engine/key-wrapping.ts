import { newSecret, type PasswordCost, passwordHash, type System, seal, unseal } from '../../../core/system.ts'

/**
 * Thrown if the setting PAYMENTS_SECRET does not match the secret that wrapped the database's keys. The message is one
 * line.
 */
export class WrongSecretError extends Error {
  override readonly name = 'WrongSecretError'
}

/**
 * The cost of deriving a key from the secret. It is the same as for passwords (OWASP Password Storage Cheat Sheet),
 * since people may choose the secret. Each start derives the key once.
 */
const cost: PasswordCost = { blocks: 2 ** 15, size: 8, lanes: 1 }

/**
 * A root key. `of` returns the secret that the key derives from a text. A retired key has only the secrets of
 * `lastingTexts`.
 */
export interface LoadedKey {
  id: number
  isRetired: boolean
  derive(text: string): string | undefined
}

const wrappedPattern = /^wrapped:1:([\w-]+):([\w-]+)$/

/**
 * Encrypts the keys in the database. Its secrets are kept outside the database, so the database alone reveals no key.
 * The first secret wraps keys. The other secrets only open keys that were wrapped before the secret was changed.
 * Without secrets, keys are stored in plain text.
 */
export class KeyWrapping {
  /** The root keys that this process opened last. */
  loaded: { version: number; keys: readonly LoadedKey[] } | undefined
  readonly #secrets: readonly string[]
  readonly #system: Pick<System, 'randomBytes'>
  /** The derived keys, by secret and salt. */
  readonly #keys = new Map<string, Promise<string>>()
  /** The last salt seen. A database has one salt, so each secret needs only one derivation. */
  #salt: string | undefined

  constructor(secrets: readonly string[] | undefined, system: Pick<System, 'randomBytes'>) {
    this.#secrets = secrets ?? []
    this.#system = system
  }

  /** Returns a key in the form in which it is stored. */
  async wrap(text: string): Promise<string> {
    const [secret] = this.#secrets
    if (secret === undefined) return text
    this.#salt ??= newSecret(this.#system, 16)
    return `wrapped:1:${this.#salt}:${seal(this.#system, await this.#keyOf(secret, this.#salt), text)}`
  }

  /** Opens a stored key. @throws WrongSecretError if none of the secrets opens it. */
  async open(stored: string): Promise<string> {
    return (await this.#unwrap(stored)).text
  }

  /** Returns whether a key is stored in the form that `wrap` returns now. @throws WrongSecretError as above. */
  async isCurrent(stored: string): Promise<boolean> {
    return (await this.#unwrap(stored)).by === this.#secrets[0]
  }

  async #unwrap(stored: string): Promise<{ text: string; by: string | undefined }> {
    const [, salt, sealed] = wrappedPattern.exec(stored) ?? []
    if (salt === undefined || sealed === undefined) return { text: stored, by: undefined }
    for (const secret of this.#secrets) {
      const text = unseal(await this.#keyOf(secret, salt), sealed)
      if (text === undefined) continue
      this.#salt = salt
      return { text, by: secret }
    }
    throw new WrongSecretError(
      this.#secrets.length === 0
        ? 'got nothing, but the keys in the database are wrapped; it accepts the secret that they were wrapped with.'
        : 'got a secret that cannot decrypt the keys in the database; it accepts the secret that encrypted them, or new,old to change it.',
    )
  }

  #keyOf(secret: string, salt: string): Promise<string> {
    const name = `${salt} ${secret}`
    let key = this.#keys.get(name)
    if (key === undefined) {
      key = passwordHash(secret, salt, cost)
      this.#keys.set(name, key)
    }
    return key
  }
}
