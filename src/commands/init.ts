import { writeFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { z } from 'zod'
import { Text } from '../../tools/schemas.ts'
import { ConfigError } from '../config/load.ts'
import { settings } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { packagePath } from '../core/package-path.ts'
import { worldTemplate } from '../worlds/template.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { openPersistent } from './embedded-service.ts'
import { explainErrors } from './explain.ts'
import { commandLine } from './start-command.ts'
import { withoutCredentials } from './welcome.ts'

type InitFlags = Flags & { production?: boolean; email?: string; name?: string }

/** Writes a world file for a sandbox, or creates the first party of a production database. */
export async function init(flags: InitFlags, file?: string): Promise<void> {
  await explainErrors(async () => {
    if (flags.production === true) return initProduction(flags, file)
    const stray = settings.find(({ key }) => flags[key] !== undefined)?.flag ?? strayOption(flags)
    if (stray !== undefined)
      throw new ConfigError(`${stray} needs --production; without it, init accepts only the name of a world file.`)
    await initWorld(file ?? 'world.yaml')
  })
}

function strayOption({ email, name }: InitFlags): string | undefined {
  if (email !== undefined) return '--email'
  return name === undefined ? undefined : '--name'
}

/** Writes a template for a world file, or prints the template if `file` is `-`. Never overwrites an existing file. */
async function initWorld(file: string): Promise<void> {
  if (file === '-') {
    process.stdout.write(schemaLine('world.yaml') + worldTemplate(file))
    return
  }
  try {
    await writeFile(file, schemaLine(file) + worldTemplate(file), { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    const reason = code === 'EEXIST' ? 'already exists and was not changed' : `cannot be written (${code})`
    throw new ConfigError(`init got ${show(file)}, which ${reason}; it accepts the name of a new file.`)
  }
  process.stdout.write(
    `${file} was written. Edit it, then start with it on a new database:\n\n  ${commandLine('serve', ['--world', file, '--database-url', 'sqlite::memory:'])}\n`,
  )
}

/** Returns the comment that tells an editor the schema of a world file; an empty string if the schema is missing. */
function schemaLine(file: string): string {
  const schema = packagePath('schemas/world.schema.json')
  if (schema === undefined) return ''
  const path = relative(dirname(resolve(file)), schema).replaceAll('\\', '/')
  return `# yaml-language-server: $schema=${path}\n`
}

/** Creates the first party of a production database, and the owner of the party. Prints how the owner signs in. */
async function initProduction(flags: InitFlags, file: string | undefined): Promise<void> {
  if (file !== undefined) throw new ConfigError(`init --production got ${show(file)}; it accepts no file name.`)
  const owner = ownerOf(flags)
  const config = commandConfig('init', { ...flags, environment: 'production' })
  const { databaseUrl } = config
  const { service, close } = await openPersistent('init --production', config, true)
  try {
    if (!(await service.createOwner(owner))) {
      throw new ConfigError(
        `PAYMENTS_DATABASE_URL (--database-url) got ${show(withoutCredentials(databaseUrl))}, which already has a party; use an empty database, or have that party invite people.`,
      )
    }
    const { email, password } = await service.seedPassword(undefined)
    process.stdout.write(`${owner.name} was created in ${withoutCredentials(databaseUrl)}, without money.

  Email      ${email}
  Password   ${password}

The password will not be shown again. Start the service with PAYMENTS_ENVIRONMENT=production on this database,
and sign in on its page /sign-in.
`)
  } finally {
    await close()
  }
}

function ownerOf({ email, name = 'Organization' }: InitFlags): { email: string; name: string } {
  const accepted = 'it accepts the email address with which the owner signs in'
  if (email === undefined) throw new ConfigError(`--email is required; ${accepted}.`)
  if (!z.email().max(320).safeParse(email).success) throw new ConfigError(`--email got ${show(email)}; ${accepted}.`)
  if (!Text(100).safeParse(name).success)
    throw new ConfigError(`--name got ${show(name)}; it accepts 1 to 100 printable characters.`)
  return { email: email.toLowerCase(), name }
}
