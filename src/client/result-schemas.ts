import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'

/**
 * Validates results like the SDK's clients, but compiles each schema once for all agents: compiling takes longer than
 * an agent's use of the tool.
 */
export const resultValidator: jsonSchemaValidator = {
  getValidator: <T>(schema: JsonSchemaType) => {
    const text = JSON.stringify(schema)
    const validator = compiled.get(text) ?? new AjvJsonSchemaValidator().getValidator<unknown>(schema)
    compiled.set(text, validator)
    return validator as JsonSchemaValidator<T>
  },
}

const compiled = new Map<string, JsonSchemaValidator<unknown>>()
