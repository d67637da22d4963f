/**
 * Parses the path of an MCP endpoint: `/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents` or `/mcp/x/payments/readonly`.
 * The authorization server also uses this function: an MCP client that signs in sends the URL of the endpoint as the
 * parameter `resource`.
 */
export function mcpPath(path: string): { toolsets: string | undefined; readOnly: boolean } | undefined {
  const found = /^\/mcp(?:\/x\/(?<toolsets>[^/]+))?(?<readOnly>\/readonly)?\/?$/.exec(path)?.groups
  return found && { toolsets: found.toolsets, readOnly: found.readOnly !== undefined }
}
