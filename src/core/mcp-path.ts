/**
 * Parses the path of an MCP endpoint's address: `/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents` or
 * `/mcp/x/payments/readonly`. The resource server and the authorization server both use this, because an MCP client has
 * to sign in.
 */
export function mcpPath(path: string): { toolsets: string | undefined; readOnly: boolean } | undefined {
  const found = /^\/mcp(?:\/x\/(?<toolsets>[^/]+))?(?<readOnly>\/readonly)?\/?$/.exec(path)?.groups
  return found && { toolsets: found.toolsets, readOnly: found.readOnly !== undefined }
}
