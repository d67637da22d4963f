import type { Service } from '../service/service.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { openPersistent } from './embedded-service.ts'
import { explainErrors } from './explain.ts'

type RotateFlags = Flags & { retire?: boolean }

/**
 * Creates new keys in the configured database. Processes that are running start to use the new keys. With `retire`,
 * also removes the older root keys.
 */
export async function rotateKeys(flags: RotateFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('rotate-keys', flags)
    const { databaseUrl } = config
    const { service, close } = await openPersistent('rotate-keys', config)
    const message = await (flags.retire === true ? retireAllKeys(service) : rotateAllKeys(service)).finally(close)
    if (flags.retire === true && databaseUrl.startsWith('sqlite:')) {
      const { checkpointLog } = await import('../service/store/engine/sqlite-file.ts')
      checkpointLog(databaseUrl.slice('sqlite:'.length))
    }
    process.stdout.write(`${message}\n`)
  })
}

async function rotateAllKeys(service: Service): Promise<string> {
  const { rootKey, signingKey } = await service.rotateKeys()
  return `Root key ${rootKey} and signing key ${signingKey} are in use from now on. Everything made with older keys stays valid.`
}

async function retireAllKeys(service: Service): Promise<string> {
  const { rootKey, signingKey, retired: ids } = await service.retireKeys()
  const used = `Root key ${rootKey} and signing key ${signingKey} are in use from now on.`
  if (ids.length === 0) return `${used} There was no older root key to remove.`
  const removed = `${ids.length === 1 ? 'root key' : 'root keys'} ${ids.toSorted((a, b) => a - b).join(', ')}`
  return `${used} Removed: ${removed}. Everything made with older keys stays valid.`
}
