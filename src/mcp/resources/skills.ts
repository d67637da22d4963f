import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { type Skill, SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import { nodeSkillFiles } from '@modelcontextprotocol/server/ext/skills/node'
import { operationsByName } from '../../../tools/index.ts'
import { show } from '../../core/errors.ts'
import { modernVersion } from '../../core/mcp-versions.ts'
import { skillsFolder } from '../../core/skills-folder.ts'
import { pageOf } from '../answers/list-page.ts'
import { type Dependencies, isChosen, mayCall } from '../dependencies.ts'

type Reader = Pick<Dependencies, 'choice' | 'server'>

/** Answers `skills/list` with the skills whose tools the connection offers. */
export async function listSkills(reader: Reader, cursor: string | undefined) {
  const { page, ...next } = pageOf(await offeredSkills(reader), ({ uri }) => uri, cursor)
  return { skills: page, ...next, ...cacheFields(reader) }
}

/** Answers `skills/get`. */
export async function getSkill(reader: Reader, uri: string) {
  const skill = (await offeredSkills(reader)).find((candidate) => candidate.uri === uri)
  if (skill !== undefined) return { skill, ...cacheFields(reader) }
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no skill at ${show(uri)}; skills/list returns all skills of this connection.`,
  )
}

/** Lists the skills as resources. */
export async function skillResources(reader: Reader): Promise<Resource[]> {
  return (await offeredSkills(reader)).map(({ uri, frontmatter: { name, description } }) => ({
    uri,
    name,
    description,
    mimeType,
  }))
}

/** Reads the file of a skill. @throws ResourceNotFoundError if the connection does not offer the skill */
export async function readSkill(reader: Reader, uri: string): Promise<ReadResourceResult> {
  if (!(await offeredSkills(reader)).some((skill) => skill.uri === uri)) throw new ResourceNotFoundError(uri)
  const bytes = await nodeSkillFiles(skillsFolder()).read(uri.slice(scheme.length))
  return { contents: [{ uri, mimeType, text: new TextDecoder().decode(bytes) }] }
}

export const scheme = 'skill://'
const mimeType = 'text/markdown'

/** Returns the skills that need only tools that the connection offers. */
async function offeredSkills({ choice }: Reader): Promise<Skill[]> {
  return (await packageSkills()).filter(({ frontmatter }) =>
    neededTools(frontmatter).every((name) => {
      const operation = operationsByName.get(name)
      return operation !== undefined && mayCall(choice, operation) && isChosen(choice, operation)
    }),
  )
}

/** Returns the tools that a skill's frontmatter lists; none for a skill that uses only the command line. */
function neededTools({ metadata }: Skill['frontmatter']): string[] {
  const { tools = '' } = (metadata ?? {}) as { tools?: string }
  return tools.split(' ').filter((name) => name !== '')
}

let loading: Promise<readonly Skill[]> | undefined

/** Loads the package's skills once, with the digest of each file. */
function packageSkills(): Promise<readonly Skill[]> {
  loading ??= SkillsExtension.load(nodeSkillFiles(skillsFolder()), { strict: true }).then((catalog) => catalog.entries)
  return loading
}

/**
 * Returns the cache fields of a response; none for MCP 2025, which has no such fields. Their values forbid caching,
 * because permissions may change.
 */
function cacheFields({ server }: Reader) {
  const isModern = (server.getNegotiatedProtocolVersion() ?? '') >= modernVersion
  return isModern ? { ttlMs: 0, cacheScope: 'private' } : {}
}
