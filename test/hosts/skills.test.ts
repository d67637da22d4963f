import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { skillFiles, stepsOf } from '../skills/reader.ts'
import { hosts, newHome, runHost } from './hosts.ts'
import { idIn, type Script, type Step } from './model/script.ts'
import { type ScriptedModel, scriptedModel } from './model/server.ts'
import { callTool, stdioServer } from './world.ts'

/**
 * The hosts that read skills from a folder. `setup` is the name of the host in `payments-mcp setup`; `open` returns the
 * model's call that opens a skill.
 */
const skillHosts: Record<string, { setup: string; open: (name: string, home: string) => Step }> = {
  'claude-code': { setup: 'claude-code', open: (skill) => ({ call: 'Skill', arguments: () => ({ skill }) }) },
  codex: {
    setup: 'codex',
    open: (name, home) => ({
      call: 'exec_command',
      arguments: () => ({ cmd: `cat ${join(home, '.agents', 'skills', name, 'SKILL.md')}` }),
    }),
  },
  'gemini-cli': { setup: 'gemini', open: (name) => ({ call: 'activate_skill', arguments: () => ({ name }) }) },
}

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
const skill = skillFiles.find(({ name }) => name === 'buy-with-a-card')
/** The values that the task gives for placeholders in the skill's steps. */
const task: Readonly<Record<string, string>> = { MERCHANT: 'Books', MAXIMUM: '5000', AMOUNT: '4250' }
/** For each other placeholder, the prefix of the id that replaces it. The id comes from a tool result. */
const idPrefixes: Readonly<Record<string, string>> = { CARD: 'pcd', PURCHASE: 'cit' }

/** Returns the script of a model that reads the skill through the host and then carries out the skill's steps. */
const skillFollower =
  (name: string, home: string): Script =>
  ({ prompt, results }) => {
    const read = [...results.map(unwrap), prompt].find((text) => text.includes('# Buy with a single-use card'))
    const open = skillHosts[name]?.open('buy-with-a-card', home)
    if (read === undefined)
      return results.length === 0 && open !== undefined ? open : { say: () => 'No skill was read.' }
    // The first result is the skill itself; each further result is from a step.
    const step = stepsOf(read)[results.length - 1]
    if (step === undefined) return { say: () => 'Bought as the skill says.' }
    const resolve = (name: string) => task[name] ?? idIn(results, idPrefixes[name] ?? name)
    return { call: step.tool, arguments: () => JSON.parse(step.input.replaceAll(/\b[A-Z]{3,}\b/g, resolve)) }
  }

/** Returns all strings in a value, at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Returns the text of a tool result, which some hosts wrap in JSON. */
function unwrap(result: string): string {
  return result.startsWith('{') ? textsIn(JSON.parse(result)).join('\n') : result
}

let cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo()
  cleanUp = []
})

async function startModel(script: Script): Promise<ScriptedModel> {
  const model = await scriptedModel(script)
  cleanUp.push(() => model.close())
  return model
}

test.each(hosts.filter(({ name }) => Object.hasOwn(skillHosts, name)))(
  '$name lists the skills that `setup` copied, and its model makes a purchase by following one of them',
  async (host) => {
    const { home, remove } = newHome()
    cleanUp.push(remove)
    const setup = [cli, 'setup', skillHosts[host.name]?.setup ?? '', '--yes', '--skills']
    const env = { PATH: process.env.PATH ?? '', HOME: home }
    await promisify(execFile)(process.execPath, setup, { env, cwd: home })
    const model = await startModel(skillFollower(host.name, home))
    const ran = await runHost(host, { home, mcp: stdioServer(home), model: model.url })
    expect(ran.output).toContain('Bought as the skill says.')
    expect(ran.exitCode).toBe(0)
    const requests = JSON.stringify(model.requests)
    for (const { name, frontmatter } of skillFiles) {
      expect(requests).toContain(name)
      expect(requests).toContain(frontmatter.description.slice(0, 60))
    }
    // The whole skill reached the model, exactly as it is in the package.
    const [, , body = ''] = skill?.text.split(/^---\n/m) ?? []
    const texts = textsIn(model.requests).join('\n')
    for (const line of body.split('\n')) expect(texts).toContain(line)
    const { data } = await callTool(home, 'list_card_transactions')
    expect(data).toMatchObject([{ attributes: { status: 'captured', captured: 4250 } }])
  },
)
