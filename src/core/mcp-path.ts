/**
 * Parses the path of an MCP endpoint: `/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents` or `/mcp/x/payments/readonly`.
 * The authorization server uses it too, because an MCP client names its endpoint as the `resource` when it signs in.
 */
export function mcpPath(path: string): { toolsets: string | undefined; readOnly: boolean } | undefined {
  const found = /^\/mcp(?:\/x\/(?<toolsets>[^/]+))?(?<readOnly>\/readonly)?\/?$/.exec(path)?.groups
  return found && { toolsets: found.toolsets, readOnly: found.readOnly !== undefined }
}
