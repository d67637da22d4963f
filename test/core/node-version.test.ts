import { expect, test } from 'vitest'
import { refusalOfNode, requireNode } from '../../src/core/node-version.ts'
import { createSandbox } from '../../src/testing/sandbox.ts'

test.each(['20.20.2', '22.18.9'])('Node.js %s is refused, and the error states the required version', (version) => {
  expect(() => requireNode('createSandbox', version)).toThrow(
    `createSandbox: payments-mcp needs Node.js 22.19 or newer; this is Node.js ${version}. Run your program with a newer Node.js.`,
  )
})

test.each(['22.19.0', '24.0.0', '100.1.0'])('Node.js %s is accepted', (version) => {
  expect(refusalOfNode(version)).toBeUndefined()
})

test('createSandbox refuses to start on an older Node.js', async () => {
  const { versions } = process
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.20.2' } })
  try {
    await expect(createSandbox({ port: false })).rejects.toThrow(
      /^createSandbox: payments-mcp needs Node\.js 22\.19 or newer; this is Node\.js 20\.20\.2\./,
    )
  } finally {
    Object.defineProperty(process, 'versions', { value: versions })
  }
})
