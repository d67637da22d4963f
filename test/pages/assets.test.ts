import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPageAssets } from '../../scripts/page-assets.ts'
import { assets } from '../../src/service/pages/frame/assets.ts'

test('copyPageAssets copies exactly the assets that the pages can load', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'payments-mcp-assets-'))
  copyPageAssets(folder)
  expect((await readdir(join(folder, 'assets'))).sort()).toEqual(
    Object.keys(assets)
      .map((path) => basename(path))
      .sort(),
  )
  await rm(folder, { recursive: true })
})
