import { createInterface } from 'node:readline'
import { createStoredCredential } from '../../src/auth/stored-credential.ts'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { createRemoteFetch } from '../../src/client/remote.ts'
import { realSystem } from '../../src/core/system.ts'

// A program that uses a stored login. For each line of input, the program prints the access token to send to the API.

const [directory = '', baseUrl = ''] = process.argv.slice(2)
const store = createTokenStore({ directory, system: realSystem })
const credential = createStoredCredential({ baseUrl, store, system: realSystem, fetch: createRemoteFetch().fetch })

process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin })) {
  const line = await credential().catch((error: unknown) => `failed: ${String(error)}`)
  process.stdout.write(`${line}\n`)
}
process.exit()
