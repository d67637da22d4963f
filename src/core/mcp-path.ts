/**
 * Parses the addresses of the MCP endpoint: `/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents`,
 * `/mcp/x/payments/readonly`. A client of MCP has to sign in, so both the resource server and the authorization server
 * use this.
 */
export function mcpPath(path: string): { toolsets: string | undefined; readOnly: boolean } | undefined {
  const found = /^\/mcp(?:\/x\/(?<toolsets>[^/]+))?(?<readOnly>\/readonly)?\/?$/.exec(path)?.groups
  return found && { toolsets: found.toolsets, readOnly: found.readOnly !== undefined }
}
