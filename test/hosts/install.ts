import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Installs the hosts of the lock file into this folder if they are missing or outdated. Exits with code 3 if the
 * installation fails.
 */
const folder = fileURLToPath(new URL('.', import.meta.url))
const lock = `${folder}package-lock.json`
const installed = `${folder}node_modules/.installed-lock.json`

const upToDate = existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(lock, 'utf8')
if (!upToDate) {
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
  if (status === 0) copyFileSync(lock, installed)
  else process.exitCode = 3
}
