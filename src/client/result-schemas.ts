import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'

/**
 * Validates tool results as the clients of the MCP SDK do, but compiles each schema only once per process. Compiling a
 * schema takes longer than calling the tool.
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
