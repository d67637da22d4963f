/**
 * The addresses of the MCP endpoint: `/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents`, `/mcp/x/payments/readonly`. Where
 * MCP is served there is something to sign in to, so the resource server and the authorization server both read this.
 */
export function mcpPath(path: string): { toolsets: string | undefined; readOnly: boolean } | undefined {
  const found = /^\/mcp(?:\/x\/(?<toolsets>[^/]+))?(?<readOnly>\/readonly)?\/?$/.exec(path)?.groups
  return found && { toolsets: found.toolsets, readOnly: found.readOnly !== undefined }
}
