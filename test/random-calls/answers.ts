import { createRequire } from 'node:module'
import type { OperationDefinition } from '../../src/core/operation.ts'
import type { Answer } from '../support/world.ts'

interface Ajv {
  addSchema(schema: object): void
  getSchema(pointer: string): (((value: unknown) => boolean) & { errors?: unknown }) | undefined
}

// Resolves ajv from the OpenAPI validator, because ajv is a dependency of this validator and not of this package.
const load = createRequire(createRequire(import.meta.url).resolve('@seriousme/openapi-schema-validator'))
const Ajv2020 = load('ajv/dist/2020.js').default as new (options: object) => Ajv
const addFormats = load('ajv-formats').default as (ajv: Ajv) => void

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>
}

/** Returns a function that compares an answer with the service's own /openapi.json and lists the contradictions. */
export function answerCheck(document: object): (operation: OperationDefinition, answer: Answer) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false })
  addFormats(ajv)
  ajv.addSchema({ ...document, $id: 'openapi' })
  return ({ method, path }, { status, json }) => {
    const steps = ['paths', path, method.toLowerCase(), 'responses', String(status)]
    const response = (document as Document).paths[path]?.[method.toLowerCase()]?.responses[status]
    if (response === undefined) return [`the status ${status} is not in /openapi.json`]
    const pointer = response.$ref ?? `#/${steps.map(escapePointer).join('/')}`
    const validate = ajv.getSchema(`openapi${pointer}/content/application~1json/schema`)
    if (validate === undefined) throw new Error(`Bug: no schema at ${pointer}`)
    return validate(json)
      ? []
      : [`the answer does not match its schema in /openapi.json: ${JSON.stringify(validate.errors).slice(0, 500)}`]
  }
}

function escapePointer(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))
}
