import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import type { Host } from '../mcp/hosts.ts'

const root = fileURLToPath(new URL('../../skills/', import.meta.url))

interface SkillFile {
  name: string
  text: string
  frontmatter: { name: string; description: string; metadata?: { tools: string } }
}

/** The package's skills, as a host reads them from a folder. */
export const skillFiles: readonly SkillFile[] = readdirSync(root).map((name) => {
  const text = readFileSync(`${root}${name}/SKILL.md`, 'utf8')
  const [, frontmatter = ''] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? []
  return { name, text, frontmatter: parse(frontmatter) }
})

/** Returns the texts of the fenced blocks in a language. */
export function blocksOf(text: string, language: string): string[] {
  return [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , found]) => found === language)
    .map(([, indent = '', , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}

interface Step {
  number: number
  tool: string
  /** The arguments as JSON, with names in capitals instead of facts. */
  input: string
  /** The facts to take from the answer, each as a path in the answer and a name. */
  learns: readonly (readonly [path: string, name: string])[]
}

/** Returns the numbered steps of a skill that call a tool. */
export function stepsOf(text: string): Step[] {
  return [...text.matchAll(/^(\d+)\. ([\s\S]*?)(?=^\d+\. |^#|(?![\s\S]))/gm)].flatMap(([, number, words = '']) => {
    const [, tool, input] = /^`(\w+) (\{.*\})`/.exec(words) ?? []
    if (tool === undefined || input === undefined) return []
    const learns = [...words.matchAll(/\bits\s+`([\w.]+)` is\s+([A-Z]+)\b/gi)].map(
      ([, path = '', name = '']) => [path, name] as const,
    )
    return [{ number: Number(number), tool, input, learns }]
  })
}

type Facts = Record<string, string | number>

export interface Played {
  tool: string
  data: Attributes & Attributes[]
}

interface Attributes {
  id: string
  attributes: Record<string, unknown>
}

/**
 * Carries out a skill's steps with only its text and the facts of the task. It fills in each fact by name, and takes
 * new facts from the answers as the text says. It calls `between` before each step.
 */
export async function follow(
  host: Host,
  text: string,
  initialFacts: Facts,
  between: (step: Step, facts: Facts) => Promise<void> | void = () => {},
): Promise<Played[]> {
  const facts = { ...initialFacts }
  const played: Played[] = []
  for (const step of stepsOf(text)) {
    await between(step, facts)
    const input = step.input.replaceAll(/\b[A-Z]{3,}\b/g, (name) => {
      if (facts[name] === undefined) throw new Error(`Step ${step.number} needs ${name}, which no earlier step gave.`)
      return String(facts[name])
    })
    const result = await host.callTool(step.tool, JSON.parse(input))
    if (result.isError) throw new Error(`Step ${step.number}: ${result.content[0]?.text}`)
    const data = (result.structuredContent as unknown as { data: Played['data'] }).data
    played.push({ tool: step.tool, data })
    for (const [path, name] of step.learns) learn(facts, name, data, path)
  }
  return played
}

function learn(facts: Facts, name: string, data: Played['data'], path: string): void {
  // In a list, the record is the one with the known id, or the first one.
  const record = Array.isArray(data) ? (data.find(({ id }) => id === facts[name]) ?? data[0]) : data
  if (facts[name] !== undefined && !Array.isArray(data)) return
  const found = path === 'id' ? record?.id : path.split('.').reduce<unknown>(inner, record?.attributes)
  if (typeof found === 'string' || typeof found === 'number') facts[name] = found
}

const inner = (value: unknown, name: string) => (value as Record<string, unknown> | undefined)?.[name]
