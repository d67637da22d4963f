import { newSecret, type PasswordCost, passwordHash, type System, seal, unseal } from '../../../core/system.ts'

/**
 * Thrown if the setting PAYMENTS_SECRET does not contain the secret that encrypted the database's keys. The message is
 * one line that is printed after the name of the setting.
 */
export class WrongSecretError extends Error {
  override readonly name = 'WrongSecretError'
}

/**
 * The cost of deriving an encryption key from a secret. The cost is the same as for passwords (OWASP Password Storage
 * Cheat Sheet), because a person may have chosen the secret. The key is derived only once per start.
 */
const cost: PasswordCost = { blocks: 2 ** 15, size: 8, lanes: 1 }

/**
 * A root key. `derive` returns the secret that the key derives from a string. A retired key derives secrets only from
 * `lastingTexts`; for any other string, `derive` returns undefined.
 */
export interface LoadedKey {
  id: number
  isRetired: boolean
  derive(text: string): string | undefined
}

const wrappedPattern = /^wrapped:1:([\w-]+):([\w-]+)$/

/**
 * Encrypts the keys that are stored in the database. The secrets that encrypt them are not in the database, so the
 * database alone reveals no key. The first secret is the current one and encrypts keys. The other secrets are earlier
 * ones and only decrypt keys. If there are no secrets, keys are stored in plain text.
 */
export class KeyWrapping {
  /** The root keys that this process decrypted last, and their version. */
  loaded: { version: number; keys: readonly LoadedKey[] } | undefined
  readonly #secrets: readonly string[]
  readonly #system: Pick<System, 'randomBytes'>
  /** The derived encryption keys, by salt and secret. */
  readonly #keys = new Map<string, Promise<string>>()
  /**
   * The salt that was read or created last. All keys in a database share one salt, so only one encryption key is
   * derived from each secret.
   */
  #salt: string | undefined

  constructor(secrets: readonly string[] | undefined, system: Pick<System, 'randomBytes'>) {
    this.#secrets = secrets ?? []
    this.#system = system
  }

  /** Returns a key in the form in which the database stores it. */
  async wrap(text: string): Promise<string> {
    const [secret] = this.#secrets
    if (secret === undefined) return text
    this.#salt ??= newSecret(this.#system, 16)
    return `wrapped:1:${this.#salt}:${seal(this.#system, await this.#keyOf(secret, this.#salt), text)}`
  }

  /** Returns a stored key in plain text. @throws WrongSecretError if none of the secrets decrypts the key. */
  async open(stored: string): Promise<string> {
    return (await this.#unwrap(stored)).text
  }

  /**
   * Returns whether a stored key is encrypted with the first secret. If there are no secrets, returns true for a key in
   * plain text.
   * @throws WrongSecretError if none of the secrets decrypts an encrypted key.
   */
  async isCurrent(stored: string): Promise<boolean> {
    return (await this.#unwrap(stored)).secret === this.#secrets[0]
  }

  async #unwrap(stored: string): Promise<{ text: string; secret: string | undefined }> {
    const [, salt, sealed] = wrappedPattern.exec(stored) ?? []
    if (salt === undefined || sealed === undefined) return { text: stored, secret: undefined }
    for (const secret of this.#secrets) {
      const text = unseal(await this.#keyOf(secret, salt), sealed)
      if (text === undefined) continue
      this.#salt = salt
      return { text, secret }
    }
    throw new WrongSecretError(
      this.#secrets.length === 0
        ? 'is required, because the keys in the database are encrypted; it accepts the secret that encrypted them.'
        : 'got a secret that cannot decrypt the keys in the database; it accepts the secret that encrypted them, or NEW,OLD to replace the secret OLD with NEW.',
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
