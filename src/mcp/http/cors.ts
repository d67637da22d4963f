/** The methods and headers that a host in a browser may use. */
const methods = 'GET, POST, DELETE'
const requestHeaders = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Last-Event-ID',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Protocol-Version',
  'Mcp-Session-Id',
  'X-Instance-ID',
  'X-MCP-Readonly',
  'X-MCP-Toolsets',
].join(', ')
const responseHeaders = 'Mcp-Session-Id, WWW-Authenticate, Mcp-Protocol-Version'

/** Returns the response to a CORS preflight from an allowed origin. No cookies are allowed, because none are needed. */
export function preflight(origin: string): Response {
  return withCors(
    new Response(null, {
      status: 204,
      headers: {
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': requestHeaders,
        'Access-Control-Max-Age': '7200',
      },
    }),
    origin,
  )
}

/** Lets pages of the given origin read the response. */
export function withCors(response: Response, origin: string): Response {
  response.headers.set('Access-Control-Allow-Origin', origin)
  response.headers.set('Access-Control-Expose-Headers', responseHeaders)
  response.headers.append('Vary', 'Origin')
  return response
}
