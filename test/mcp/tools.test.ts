import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { encode } from 'gpt-tokenizer'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  answersList,
  type Environment,
  hasEffectPerCall,
  inputParts,
  type OperationDefinition,
} from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { operationsOf } from '../../src/mcp/tools/offered-operations.ts'
import { catalogue } from '../../tools/index.ts'

const environments: Environment[] = ['sandbox', 'production']
const sandbox = new Map(toolList(everyTool('sandbox')).map((tool) => [tool.name, tool]))
/** The validator with which hosts check results. It compiles each schema only once. */
const ajv = new AjvJsonSchemaValidator()
const validator = (schema: object = {}) => ajv.getValidator(schema as never)
const operations = Object.values<OperationDefinition>(catalogue)
/** Tools that count as destructive because they overwrite a value, although a second call can restore the old value. */
const overwritingTools = [
  'update_application',
  'update_trusted_issuer',
  'update_wallet',
  'set_default_wallet',
  'freeze_wallet',
  'unfreeze_wallet',
  'attach_wallet_agent',
]
overwritingTools.push('set_agent_default_wallet', 'freeze_agent_card', 'unfreeze_agent_card', 'update_agent')
overwritingTools.push('resume_subscription', 'mark_subscription_payment_paid')
overwritingTools.push(
  'link_external_accounts',
  'create_party_invitations',
  'set_party_handle',
  'set_party_limits',
  'update_party',
  'update_webhook',
)
const verbs =
  /^(list|get|issue|create|update|delete|remove|cancel|revoke|invite|link|rotate|approve|deny|resume|mark|fund|simulate|advance|set|reset|save|restore|freeze|unfreeze|attach|detach|clear|start|pay|return|fulfill|decline|resend|send)(_[a-z]+)+$/

describe.each(environments)('the tools in the environment %s', (environment) => {
  test('a tool definition has at most 135 tokens on average', () => {
    const costs = toolList(everyTool(environment)).map(({ name, description, inputSchema }) => ({
      name,
      tokens: encode(JSON.stringify({ name, description, inputSchema })).length,
    }))
    const average = costs.reduce((sum, { tokens }) => sum + tokens, 0) / costs.length
    expect(average, costs.map(({ name, tokens }) => `${name} ${tokens}`).join('\n')).toBeLessThanOrEqual(135)
  })

  test('the tools of the environment are listed in the order of tools/index.ts, and are created only once', () => {
    const names = operations.filter((operation) => operation.environments.includes(environment)).map(({ name }) => name)
    expect(toolList(everyTool(environment)).map(({ name }) => name)).toEqual(names)
    expect(operationsOf(everyTool(environment)).map(({ name }) => name)).toEqual(names)
    const again = toolList(everyTool(environment))
    for (const [at, tool] of toolList(everyTool(environment)).entries()) expect(tool).toBe(again[at])
  })
})

test('production has no tools that simulate events or control the sandbox', () => {
  expect(toolList(everyTool('production')).filter(({ name }) => /simulate|sandbox/.test(name))).toEqual([])
})

describe.each(operations.map((operation) => [operation.name, operation] as const))('the tool %s', (name, operation) => {
  const tool = sandbox.get(name)
  const properties = Object.keys(tool?.inputSchema.properties ?? {})

  test('the tool has a name of the form verb_noun, a title, and a description in full sentences', () => {
    if (name !== 'whoami') expect(name).toMatch(verbs)
    expect(name.length).toBeLessThanOrEqual(64)
    expect(operation.title).toMatch(/^[A-Z].{3,}[^.]$/)
    expect(operation.description).toMatch(/^[A-Z].{10,}\.$/)
  })

  test('the input schema lists every argument at the top level', () => {
    const names = inputParts.flatMap((part) => Object.keys(operation[part]?.shape ?? {}))
    expect(new Set(names).size).toBe(names.length)
    expect(names).not.toContain('idempotencyKey')
    const clears = ['update_agent', 'update_wallet', 'update_party', 'update_webhook', 'create_subscription'].includes(
      name,
    )
    const clear = clears ? ['clear'] : []
    const key = operation.idempotency === 'required' || operation.adds ? ['idempotencyKey'] : []
    const detail = name === 'list_activity' ? ['detail'] : []
    const isOther = (argument: string) => argument === 'partyId' && names.includes('customerPartyId')
    const listed = names.filter((argument) => !isOther(argument))
    const listedArguments = listed.filter((argument) => !operation.unlisted?.includes(argument))
    expect(properties).toEqual([...listedArguments, ...clear, ...detail, ...key])
    expect(names).toEqual(expect.arrayContaining([...(operation.unlisted ?? [])]))
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    expect(Object.keys(operation.params?.shape ?? {})).toEqual(inPath)
    expect(tool?.inputSchema.required ?? []).toEqual(expect.arrayContaining(inPath))
    expect(tool?.inputSchema.required ?? []).not.toContain('idempotencyKey')
    expect(tool?.inputSchema.additionalProperties).toBe(false)
  })

  test('the annotations match the effect of the tool', () => {
    expect(tool?.annotations).toEqual({
      // Hosts may run read-only tools without asking the person. A card number must not be shown without asking.
      readOnlyHint: operation.effect === 'read' && name !== 'get_agent_card_details',
      destructiveHint: operation.effect === 'destructive' || overwritingTools.includes(name),
      // test/surface/hints.test.ts checks this hint by calling each tool twice.
      idempotentHint: !hasEffectPerCall(operation),
      openWorldHint: false,
    })
    expect(operation.method === 'GET').toBe(operation.effect === 'read')
  })

  test('the input schema compiles in a validator', () => {
    expect(validator(tool?.inputSchema)({}).valid).toBeTypeOf('boolean')
  })

  test('the output schema accepts results with missing, additional and unknown values', () => {
    const valid = validator(tool?.outputSchema)
    const { type, id } = z.toJSONSchema(operation.output).properties as Record<string, { const?: string }>
    const resource = {
      type: type?.const,
      id: id?.const ?? 'x',
      attributes: { status: 'of tomorrow', unheard: 1 },
      links: {},
    }
    expect(valid({ data: answersList(operation) ? [resource] : resource, meta: { any: 1 } }).valid).toBe(true)
    expect(valid({}).valid).toBe(false)
    expect(valid({ meta: {} }).valid).toBe(false)
  })

  test('the input schema omits patterns and other keywords that a model does not need', () => {
    const text = JSON.stringify(tool?.inputSchema)
    expect(text).not.toContain('$schema')
    expect(text).not.toContain('pattern')
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })
})
