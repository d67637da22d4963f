import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse as parseToml } from '@decimalturn/toml-patch'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { hostFiles } from '../../src/commands/host-files.ts'
import { hostNames } from '../../src/core/host-setups.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { hasTerminal, onTerminal } from '../support/terminal.ts'

const cli = await runResource('cli')
const start = { command: process.execPath, args: [cli] }

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'payments-setup-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function setup(...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: home }
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'setup', ...args], { env, encoding: 'utf8' })
  return { status, stdout, stderr }
}

const cursor = () => join(home, '.cursor/mcp.json')
const codex = () => join(home, '.codex/config.toml')

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const read = (path: string) => readFileSync(path, 'utf8')

test('setup writes an entry that starts this program, and a host that uses the entry lists the tools', async () => {
  const { status, stdout, stderr } = setup('cursor', '--yes', '--read-only', 'true')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(`${cursor()} will get this entry under mcpServers`)
  expect(stdout).toMatch(/Restart Cursor and ask: “Issue a card/)
  const { payments } = JSON.parse(read(cursor())).mcpServers
  expect(payments).toEqual({ ...start, env: { PAYMENTS_READ_ONLY: 'true' } })
  expect(statSync(cursor()).mode & 0o777).toBe(0o600)

  const host = new Client({ name: 'test', version: '1' })
  await host.connect(new StdioClientTransport({ ...payments, env: { ...payments.env, HOME: home }, stderr: 'ignore' }))
  const { tools } = await host.listTools()
  await host.close()
  expect(tools.map(({ name }) => name)).toContain('list_wallets')
})

test.runIf(isDeep)('setup uses the file and the format of each host, and changes nothing the second time', () => {
  const machine = { platform: process.platform, home, env: {} }
  for (const name of hostNames) {
    const path = hostFiles[name].path(machine)
    expect(setup(name, '--yes').status).toBe(0)
    const before = read(path)
    expect(before).toContain(JSON.stringify(cli))
    expect(setup(name, '--yes').stdout).toMatch(/ is already set up: /)
    expect(read(path)).toBe(before)
    expect(readdirSync(dirname(path))).not.toContain(`${path}.payments-mcp`)
  }
  // The entries of Claude Code and Codex make these hosts wait for the tools before a session's first turn.
  const claude = { type: 'stdio', ...start, alwaysLoad: true }
  expect(JSON.parse(read(join(home, '.claude.json'))).mcpServers.payments).toEqual(claude)
  expect(parseToml(read(codex()))).toEqual({ mcp_servers: { payments: { ...start, required: true } } })
})

test.runIf(isDeep)('setup --http does not make a host wait for the tools, because the server may be down', () => {
  expect(setup('codex', '--yes', '--http').status).toBe(0)
  expect(parseToml(read(codex()))).toEqual({ mcp_servers: { payments: { url: 'http://127.0.0.1:4010/mcp' } } })
  expect(setup('claude-code', '--yes', '--http').status).toBe(0)
  expect(read(join(home, '.claude.json'))).not.toContain('alwaysLoad')
})

test.runIf(isDeep)("setup does not change the user's choice of whether the host waits for the server", () => {
  put(codex(), '[mcp_servers.payments]\ncommand = "/old"\nargs = []\nrequired = false\n')
  expect(setup('codex', '--yes').status).toBe(0)
  expect(parseToml(read(codex()))).toEqual({ mcp_servers: { payments: { ...start, required: false } } })
})

test.runIf(isDeep)('setup keeps a backup with the same mode next to the changed file, and prints its path', () => {
  const copy = `${codex()}.payments-mcp-backup`
  expect(setup('codex', '--yes').stdout).not.toContain('payments-mcp-backup')
  expect(existsSync(copy)).toBe(false)
  for (const toolsets of ['all', 'default,payments']) {
    const before = read(codex())
    chmodSync(codex(), 0o640)
    const { stdout } = setup('codex', '--yes', '--toolsets', toolsets)
    expect(stdout).toContain(`The previous file was copied to ${copy}\n`)
    expect([read(copy), statSync(copy).mode & 0o777]).toEqual([before, 0o640])
  }
})

test.runIf(isDeep)(
  'setup warns that Copilot sessions cannot use a VS Code entry that contains an input variable',
  () => {
    const path = hostFiles.vscode.path({ platform: process.platform, home, env: {} })
    expect(setup('vscode', '--yes').stdout).not.toContain('Copilot')
    const written = read(path)
    const key = ['$', '{input:payments-key}'].join('')
    put(path, written.replace('"type"', `"env": { "PAYMENTS_KEY": "${key}" },\n"type"`))
    expect(setup('vscode', '--yes', '--toolsets', 'all').stdout).toMatch(
      /In VS Code, Copilot sessions cannot use .*\.mcp\.json/,
    )
  },
)

test.runIf(isDeep)('for opencode, setup changes an existing opencode.jsonc and does not create opencode.json', () => {
  const folder = join(home, '.config/opencode')
  put(join(folder, 'opencode.jsonc'), '{\n  // mine\n  "mcp": {}\n}\n')
  expect(setup('opencode', '--yes', '--toolsets', 'all').status).toBe(0)
  expect(existsSync(join(folder, 'opencode.json'))).toBe(false)
  expect(read(join(folder, 'opencode.jsonc'))).toContain('// mine')
  const { mcp } = parseYaml(read(join(folder, 'opencode.jsonc')).replace('// mine', ''))
  const environment = { PAYMENTS_TOOLSETS: 'all' }
  expect(mcp.payments).toEqual({ type: 'local', command: [process.execPath, cli], environment })
})

describe("Continue's list of servers", () => {
  const path = () => join(home, '.continue/config.yaml')
  const requiredFields = { name: 'Local Assistant', version: '1.0.0', schema: 'v1' }
  const mine = 'name: Mine # me\nversion: 1.0.0\n\n# the best\nmodels:\n  - {name: a,   provider: x, model: y}\n'
  const otherServers = 'mcpServers:\n  - name: other # odd\n    command: x\n  - uses: a/b\n'
  const payments = { name: 'payments', ...start }

  test.runIf(isDeep).each([
    ['no file exists', undefined, [payments]],
    ['the file has no list', mine, [payments]],
    ['the list has other servers', mine + otherServers, [{ name: 'other', command: 'x' }, { uses: 'a/b' }, payments]],
    [
      'the list already has this server',
      `${mine}mcpServers:\n  - name: payments\n    command: /old\n    cwd: /mine\n${otherServers.split('\n').slice(1).join('\n')}`,
      [{ name: 'payments', cwd: '/mine', ...start }, { name: 'other', command: 'x' }, { uses: 'a/b' }],
    ],
  ])('setup puts the server into the list if %s', (_, text, servers) => {
    if (text !== undefined) put(path(), text)
    expect(setup('continue', '--yes').status).toBe(0)
    const written = read(path())
    const { mcpServers, ...others } = parseYaml(written)
    expect(mcpServers).toEqual(servers)
    expect(others).toEqual(text === undefined ? requiredFields : (({ mcpServers: _, ...all }) => all)(parseYaml(text)))
    if (text !== undefined) for (const comment of text.match(/# .+/g) ?? []) expect(written).toContain(comment)
    expect(setup('continue', '--yes').stdout).toMatch(/ is already set up: /)
  })

  test.runIf(isDeep)('a file that is not valid YAML is refused and stays unchanged', () => {
    put(path(), 'models: [\n')
    const { status, stderr } = setup('continue', '--yes')
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/config\.yaml: line \d is not valid YAML\. Nothing/),
    })
    expect(read(path())).toBe('models: [\n')
  })
})

test.each([
  ['darwin', 'claude-desktop', '/u/Library/Application Support/Claude/claude_desktop_config.json'],
  ['darwin', 'vscode', '/u/Library/Application Support/Code/User/mcp.json'],
  ['linux', 'vscode', '/u/.config/Code/User/mcp.json'],
  ['win32', 'vscode', 'C:\\Roaming\\Code\\User\\mcp.json'],
  ['win32', 'claude-desktop', 'C:\\Roaming\\Claude\\claude_desktop_config.json'],
] as const)('on %s, the configuration file of %s is %s', (platform, name, path) => {
  const env = platform === 'win32' ? { APPDATA: 'C:\\Roaming' } : {}
  expect(hostFiles[name].path({ platform, home: platform === 'win32' ? 'C:\\u' : '/u', env })).toBe(path)
})

describe('the unchanged parts of a configuration file', () => {
  const jsonc = `{
\t// mine
\t"mcpServers": {
\t\t"other": {"command": "x",   "args": []}, // odd
\t},
\t"theme" : "dark" /* yes */
}
`
  test('setup preserves comments and spaces in a JSON file', () => {
    put(cursor(), jsonc)
    expect(setup('cursor', '--yes').status).toBe(0)
    const [before, after] = jsonc.split('\n\t},\n') as [string, string]
    const text = read(cursor())
    expect(text.startsWith(`${before}\n\t\t"payments": {\n\t\t\t"command"`)).toBe(true)
    expect(text.endsWith(`\n\t\t}\n\t},\n${after}`)).toBe(true)
  })

  test.runIf(isDeep).each([
    ['a file on one line', '{"a": 1}', '{"a": 1, "mcpServers": {"payments":'],
    [
      'a file with CR LF at line ends',
      '{\r\n    "a": 1\r\n}\r\n',
      '{\r\n    "a": 1,\r\n    "mcpServers": {\r\n        "payments": {\r\n',
    ],
    ['a file with a byte order mark', '\uFEFF{\n  "a": 1\n}', '\uFEFF{\n  "a": 1,\n  "mcpServers"'],
    [
      'a file with a comment after the last member',
      '{\n  "a": 1 // one\n  // two\n}',
      '{\n  "a": 1, // one\n  // two\n  "mcpServers"',
    ],
  ])('setup preserves the formatting of %s', (_, text, beginning) => {
    put(cursor(), text)
    expect(setup('cursor', '--yes').status).toBe(0)
    expect(read(cursor()).slice(0, beginning.length)).toBe(beginning)
  })

  const toml = `# mine
model = "gpt"   # best
day = 1979-05-27
ratio = 1.0

[mcp_servers.other]
command = "x"
args = [ "a",   "b" ] # odd
`
  test('setup preserves comments and spaces in a TOML file', () => {
    put(codex(), toml)
    expect(setup('codex', '--yes').status).toBe(0)
    expect(read(codex()).startsWith(`${toml}\n[mcp_servers.payments]\n`)).toBe(true)
    const before = read(codex())
    expect(setup('codex', '--yes', '--toolsets', 'all').status).toBe(0)
    expect(read(codex()).startsWith(before.trimEnd())).toBe(true)
    expect(parseToml(read(codex()))).toMatchObject({ mcp_servers: { payments: { env: { PAYMENTS_TOOLSETS: 'all' } } } })
  })

  test.runIf(isDeep)("setup preserves the user's additions to the entry", () => {
    const entry = { command: '/old', args: ['x'], env: { MINE: '1' }, trust: true }
    put(cursor(), JSON.stringify({ mcpServers: { payments: entry } }, null, 4))
    const { stdout } = setup('cursor', '--yes', '--toolsets', 'all')
    expect(stdout).toContain('It will be replaced with')
    const env = { MINE: '1', PAYMENTS_TOOLSETS: 'all' }
    expect(JSON.parse(read(cursor()))).toEqual({ mcpServers: { payments: { ...start, env, trust: true } } })
  })

  test.runIf(isDeep)('setup preserves the mode of the file and a symbolic link to it', () => {
    const real = join(home, 'dotfiles.json')
    put(real, '{}')
    chmodSync(real, 0o640)
    mkdirSync(dirname(cursor()))
    symlinkSync(real, cursor())
    expect(setup('cursor', '--yes').status).toBe(0)
    expect(JSON.parse(read(real)).mcpServers.payments).toEqual(start)
    expect([statSync(real).mode & 0o777, read(cursor())]).toEqual([0o640, read(real)])
  })
})

test.each(
  sampleOf(
    [
      [
        'invalid JSON',
        '{\n  "mcpServers": {\n',
        /mcp\.json: line \d is not valid JSON \(\w+\)\. Nothing was written; fix the file/,
      ],
      ['an array instead of an object', '[]', /mcp\.json: it does not contain an object/],
      ['an mcpServers that is not an object', '{"mcpServers": 3}', /mcp\.json: mcpServers is not a map of servers/],
    ] as const,
    3,
  ),
)('a file with %s is refused with a one-line message and stays unchanged', (_, text, line) => {
  put(cursor(), text)
  const { status, stderr, stdout } = setup('cursor', '--yes')
  expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)])
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(read(cursor())).toBe(text)
})

test.runIf(isDeep)('without a terminal and without --yes, setup shows the change and writes nothing', () => {
  const { status, stdout } = setup('cursor')
  expect(stdout).toContain(JSON.stringify(cli))
  expect(stdout).toContain('Nothing was written')
  expect([status, existsSync(cursor())]).toEqual([0, false])
})

test('setup refuses --key, and never shows the secrets in an existing file', () => {
  const { status, stderr } = setup('cursor', '--yes', '--key', 'ak_ntl_sandbox_0123456789abcdef01')
  expect(stderr).toMatch(/^payments-mcp: --key is not read by setup, but by [^\n]+\n$/)
  expect([status, existsSync(cursor())]).toEqual([2, false])
  const entry = { command: '/old', args: [], env: { PAYMENTS_KEY: 'ak_ntl_sandbox_0123456789abcdef01' } }
  put(cursor(), JSON.stringify({ mcpServers: { payments: entry, other: { env: { TOKEN: 'foreign-secret' } } } }))
  expect(setup('cursor', '--yes').stdout).not.toMatch(/0123456789abcdef01|foreign-secret/)
  expect(read(cursor())).toMatch(/0123456789abcdef01.*foreign-secret/s)
})

test.runIf(isDeep)('with --http, setup writes the URL of serve; without it, setup writes the command', () => {
  const { stdout } = setup('gemini', '--yes', '--http', '--port', '4123')
  expect(stdout).toContain('The server must be running')
  const path = join(home, '.gemini/settings.json')
  expect(JSON.parse(read(path)).mcpServers.payments).toEqual({ httpUrl: 'http://127.0.0.1:4123/mcp' })
  expect(setup('gemini', '--yes').status).toBe(0)
  expect(JSON.parse(read(path)).mcpServers.payments).toEqual(start)
  expect(setup('claude-desktop', '--http', '--yes')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('Add custom connector'),
  })
})

test.runIf(isDeep)('setup suggests the nearest name for an unknown host, and lists all hosts if none is given', () => {
  expect(setup('cursr')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /^payments-mcp: setup got the host "cursr" \(did you mean cursor\?\); it accepts [^\n]+\n$/,
    ),
  })
  mkdirSync(dirname(cursor()))
  const { stdout, status } = setup()
  expect(status).toBe(0)
  expect(stdout).toMatch(
    /AI hosts on this machine:\n\n {2}cursor [\s\S]*Supported, but not found here:\n\n {2}claude-code /,
  )
  for (const name of hostNames) expect(stdout).toContain(`  ${name} `)
})

test("setup --skills copies the skills into the host's folder, and backs up files that the user changed", () => {
  const folder = join(home, '.claude/skills')
  const packageSkills = fileURLToPath(new URL('../../skills/', import.meta.url))
  const names = readdirSync(packageSkills)
  expect(setup('claude-code', '--yes').stdout).toContain(
    `${names.length} skills can be copied to ${folder}: payments-mcp setup claude-code --skills`,
  )
  expect(existsSync(folder)).toBe(false)
  expect(setup('claude-code', '--yes', '--skills').stdout).toContain(`Copied to ${folder}: ${names.join(', ')}`)
  for (const name of names)
    expect(read(join(folder, name, 'SKILL.md'))).toBe(read(join(packageSkills, name, 'SKILL.md')))
  const changed = join(folder, 'pay-somebody/SKILL.md')
  put(changed, 'mine')
  const again = setup('claude-code', '--skills').stdout
  expect(again).toContain(
    `Copied to ${folder}: pay-somebody\nThe previous file was copied to ${changed}.payments-mcp-backup`,
  )
  expect(read(`${changed}.payments-mcp-backup`)).toBe('mine')
  expect(setup('claude-code', '--skills').stdout).toContain(`The skills in ${folder} are up to date.`)
  expect(setup('claude-desktop', '--yes', '--skills').stdout).toContain('Claude Desktop has no folder for skills.')
})

describe.runIf(isDeep && hasTerminal)('questions on a terminal', () => {
  const runSetup = (typed: string, ...args: string[]) =>
    onTerminal([process.execPath, cli, 'setup', ...args], { env: { HOME: home }, typed })

  test('setup asks on a terminal, and writes only after the user agrees', () => {
    expect(runSetup('n\n', 'cursor').text).toMatch(/Write it\? \[y\/N\][\s\S]*Nothing was written\./)
    expect(existsSync(cursor())).toBe(false)
    const agreed = runSetup('y\ny\n', 'cursor').text
    expect(agreed).toContain('Cursor is set up.')
    expect(agreed).toMatch(/Copy 7 skills to .*\.cursor\/skills too\? \[y\/N\][\s\S]*Copied to/)
    expect(existsSync(join(home, '.cursor/skills/pay-somebody/SKILL.md'))).toBe(true)
    expect(JSON.parse(read(cursor())).mcpServers.payments).toEqual(start)
  })
})
