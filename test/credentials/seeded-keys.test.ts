import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Environment } from '../../src/core/operation.ts'
import type { SeedSecrets } from '../../src/service/seed.ts'
import { createService } from '../../src/service/service.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'

onEachDatabase('the keys of the default sandbox', (database) => {
  const system = fakeSystem()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const noKeys: SeedSecrets = { apiKey: undefined, agentKey: undefined }
  const fixedKeys = { apiKey: 'given-secret-0123456789abcdef', agentKey: 'given-secret-fedcba9876543210' }
  let store: Store
  let drop: () => Promise<void>

  beforeEach(async () => ({ store, drop } = await database.create(system)))
  afterEach(() => drop())

  /** Starts a service on the database, as `serve` does. */
  const start = async (secrets = noKeys, environment: Environment = 'sandbox') => {
    const service = createService({ store, system, environment, rateLimit: 1_000_000, log })
    return { service, seeded: await service.seed(secrets) }
  }
  const works = async (key: string | null) => {
    const { service } = await start()
    const headers = { Authorization: `Bearer ${key}` }
    return (await service.fetch(new Request('http://sandbox.test/whoami', { headers }))).status === 200
  }

  it('every start shows the same keys, even after the root key is rotated', async () => {
    const first = await start()
    expect(first.seeded).toMatchObject({
      apiKey: expect.stringMatching(/^sk_ntl_sandbox_[\w-]{24,128}$/),
      agentKey: expect.stringMatching(/^ak_ntl_sandbox_[\w-]{24,128}$/),
      isFirst: true,
    })
    await first.service.rotateKeys()
    expect((await start()).seeded).toMatchObject({ ...first.seeded, isFirst: false })
    expect([await works(first.seeded.apiKey), await works(first.seeded.agentKey)]).toEqual([true, true])
  })

  it('two sandboxes have different keys, and the two keys of one sandbox differ too', async () => {
    const { seeded } = await start()
    const other = await database.create(system)
    const service = createService({ store: other.store, system, environment: 'sandbox', rateLimit: 1_000_000, log })
    // All test databases are copies of one database, so both sandboxes begin with the same root key. The rotation gives
    // the second sandbox a different root key.
    await service.rotateKeys()
    const elsewhere = await service.seed(noKeys)
    await other.drop()
    const keys = [seeded.apiKey, seeded.agentKey, elsewhere.apiKey, elsewhere.agentKey]
    expect(new Set(keys.map((key) => key?.slice('sk_ntl_sandbox_'.length))).size).toBe(4)
  })

  it('generated keys do not replace keys that were set at an earlier start', async () => {
    const before = await start(fixedKeys)
    expect(before.seeded).toMatchObject({ apiKey: `sk_ntl_sandbox_${fixedKeys.apiKey}`, isFirst: true })
    expect((await start()).seeded).toMatchObject({ apiKey: null, agentKey: null, isFirst: false })
    expect([await works(before.seeded.apiKey), await works(before.seeded.agentKey)]).toEqual([true, true])
  })

  it('generated keys are replaced by keys that are set at a later start', async () => {
    const { seeded } = await start()
    const again = await start(fixedKeys)
    expect(again.seeded).toMatchObject({
      apiKey: `sk_ntl_sandbox_${fixedKeys.apiKey}`,
      agentKey: `ak_ntl_sandbox_${fixedKeys.agentKey}`,
      isFirst: false,
    })
    expect([await works(seeded.apiKey), await works(again.seeded.apiKey)]).toEqual([false, true])
  })

  it('a revoked key is not shown at later starts', async () => {
    const { service, seeded } = await start()
    const call = async (method: string, path: string) => {
      const headers = { Authorization: `Bearer ${seeded.apiKey}`, 'Idempotency-Key': path, 'X-Instance-ID': 'run' }
      return (await service.fetch(new Request(`http://sandbox.test${path}`, { method, headers }))).json()
    }
    const { data } = (await call('GET', '/agent-keys')) as { data: { id: string }[] }
    expect(await call('DELETE', `/agent-keys/${data[0]?.id}`)).not.toHaveProperty('errors')
    expect((await start()).seeded).toMatchObject({ apiKey: seeded.apiKey, agentKey: null, isFirst: false })
  })

  it('in production, a key that is not set is random, and no later start shows it', async () => {
    const fixedKeys = { apiKey: 'api-secret-0123456789abcdef', agentKey: undefined }
    const first = await start(fixedKeys, 'production')
    expect(first.seeded.agentKey).toMatch(/^ak_ntl_prod_/)
    expect((await start(noKeys, 'production')).seeded).toMatchObject({ apiKey: null, agentKey: null, isFirst: false })
  })
})
