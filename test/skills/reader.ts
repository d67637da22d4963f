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

/** The package's skills, read from their files. */
export const skillFiles: readonly SkillFile[] = readdirSync(root).map((name) => {
  const text = readFileSync(`${root}${name}/SKILL.md`, 'utf8')
  const [, frontmatter = ''] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? []
  return { name, text, frontmatter: parse(frontmatter) }
})

/** Returns the contents of the fenced code blocks in the given language. */
export function blocksOf(text: string, language: string): string[] {
  return [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , blockLanguage]) => blockLanguage === language)
    .map(([, indent = '', , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}

interface Step {
  number: number
  tool: string
  /** The arguments as JSON. A name in capitals, such as AMOUNT, stands for a fact that the agent fills in. */
  input: string
  /** The facts to take from the answer. The path is `id` or the path of an attribute. */
  learns: readonly (readonly [path: string, name: string])[]
}

/** Returns the numbered steps of a skill that call a tool. */
export function stepsOf(text: string): Step[] {
  return [...text.matchAll(/^(\d+)\. ([\s\S]*?)(?=^\d+\. |^#|(?![\s\S]))/gm)].flatMap(([, number, words = '']) => {
    const [, tool, input] = /^`(\w+) (\{.*\})`/.exec(words) ?? []
    if (tool === undefined || input === undefined) return []
    const learns = [...words.matchAll(/\b(?:its|answer's)\s+`([\w.]+)` is\s+([A-Z]+)\b/gi)].map(
      ([, path = '', name = '']) => [path, name] as const,
    )
    return [{ number: Number(number), tool, input, learns }]
  })
}

type Facts = Record<string, string | number>

export interface StepResult {
  tool: string
  data: Attributes & Attributes[]
}

interface Attributes {
  id: string
  attributes: Record<string, unknown>
}

/**
 * Carries out the steps of a skill, using only its text and the facts of the task. Replaces the names in each step with
 * facts, and takes new facts from the answers as the text says. Calls `beforeStep` before each step.
 */
export async function follow(
  host: Host,
  text: string,
  initialFacts: Facts,
  beforeStep: (step: Step, facts: Facts) => Promise<void> | void = () => {},
): Promise<StepResult[]> {
  const facts = { ...initialFacts }
  const results: StepResult[] = []
  for (const step of stepsOf(text)) {
    await beforeStep(step, facts)
    const input = step.input.replaceAll(/\b[A-Z]{3,}\b/g, (name) => {
      if (facts[name] === undefined) throw new Error(`Step ${step.number} needs the unknown fact ${name}.`)
      return String(facts[name])
    })
    const result = await host.callTool(step.tool, JSON.parse(input))
    if (result.isError) throw new Error(`Step ${step.number}: ${result.content[0]?.text}`)
    const data = (result.structuredContent as unknown as { data: StepResult['data'] }).data
    results.push({ tool: step.tool, data })
    for (const [path, name] of step.learns) learn(facts, name, data, path)
  }
  return results
}

function learn(facts: Facts, name: string, data: StepResult['data'], path: string): void {
  // If the answer is a list, the fact is read from the record whose id equals the fact's current value. If the list has
  // no such record, the fact is read from the first record.
  const record = Array.isArray(data) ? (data.find(({ id }) => id === facts[name]) ?? data[0]) : data
  if (facts[name] !== undefined && !Array.isArray(data)) return
  const found = path === 'id' ? record?.id : path.split('.').reduce<unknown>(propertyOf, record?.attributes)
  if (typeof found === 'string' || typeof found === 'number') facts[name] = found
}

const propertyOf = (value: unknown, name: string) => (value as Record<string, unknown> | undefined)?.[name]
