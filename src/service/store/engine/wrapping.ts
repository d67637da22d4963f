import { newSecret, type PasswordCost, passwordHash, type System, seal, unseal } from '../../../core/system.ts'

/** The setting PAYMENTS_SECRET does not fit what the database was wrapped with. One line for who starts the program. */
export class WrongSecretError extends Error {
  override readonly name = 'WrongSecretError'
}

/** As for passwords (OWASP Password Storage Cheat Sheet): people may choose the secret themselves. Once a start. */
const cost: PasswordCost = { blocks: 2 ** 15, size: 8, lanes: 1 }

/** A root key with what it derives of a text: nothing where it is retired and the text does not last. */
export interface LoadedKey {
  id: number
  isRetired: boolean
  of(text: string): string | undefined
}

const wrappedPattern = /^wrapped:1:([\w-]+):([\w-]+)$/

/**
 * How keys lie in the database: sealed with the first of the secrets that the start was given, which are kept elsewhere,
 * so that who has the database has no key. The others open what was wrapped before, while a secret is being changed.
 * Without secrets keys lie there as they are.
 */
export class Wrapping {
  /** The root keys that this process opened last. */
  loaded: { version: number; keys: readonly LoadedKey[] } | undefined
  readonly #secrets: readonly string[]
  readonly #system: Pick<System, 'randomBytes'>
  /** The key that a secret makes with a salt, by both. */
  readonly #keys = new Map<string, Promise<string>>()
  /** The salt that was met last: one database has one salt, so that each secret is worked on once. */
  #salt: string | undefined

  constructor(secrets: readonly string[] | undefined, system: Pick<System, 'randomBytes'>) {
    this.#secrets = secrets ?? []
    this.#system = system
  }

  /** A key as it is to lie in the database. */
  async wrap(text: string): Promise<string> {
    const [secret] = this.#secrets
    if (secret === undefined) return text
    this.#salt ??= newSecret(this.#system, 16)
    return `wrapped:1:${this.#salt}:${seal(this.#system, await this.#keyOf(secret, this.#salt), text)}`
  }

  /** @throws WrongSecretError when none of the secrets opens it. */
  async open(stored: string): Promise<string> {
    return (await this.#opened(stored)).text
  }

  /** Whether it lies there as `wrap` would put it. @throws WrongSecretError as above. */
  async isCurrent(stored: string): Promise<boolean> {
    return (await this.#opened(stored)).by === this.#secrets[0]
  }

  async #opened(stored: string): Promise<{ text: string; by: string | undefined }> {
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
        : 'got a secret that does not open the keys in the database; it accepts the one that they were wrapped with, or new,old to change it.',
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
