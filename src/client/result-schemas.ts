import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'

/**
 * Validates tool results as the SDK's clients do, but compiles each schema only once for all agents, because compiling
 * takes longer than calling the tool.
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
