/** A message about an entered code, or about a connection that the person stopped. Plain text, not HTML. */
interface CodeProblem {
  text: string
  /** Whether this is an error that the person must correct. */
  isError: boolean
}

/** Returns the message for an error of the authorization server. `name` is the name of the error's class. */
export function codeProblem(name: string): CodeProblem {
  return Object.hasOwn(problems, name) ? problems[name as keyof typeof problems] : other
}

const problems = {
  NoCodeError: { text: 'Enter the code that the device shows.', isError: true },
  NotFoundError: { text: 'There is no such code. Compare each letter with the code on the device.', isError: true },
  ExpiredError: { text: 'This code has expired. Start again on the device to get a new one.', isError: true },
  AlreadyUsedError: { text: 'This code was used already. Start again on the device to get a new one.', isError: true },
  AbortedError: { text: 'Stopped. The device gets no access; you can close this page.', isError: false },
  TooManyError: { text: 'Too many codes were entered. Wait a minute, then enter this one again.', isError: true },
  AccessDenied: { text: 'Denied. The device gets no access; you can close this page.', isError: false },
} as const satisfies Record<string, CodeProblem>

const other = { text: 'The form was out of date. Enter the code again.', isError: true }

/** Returns the text that explains an OAuth error code to the person. */
export function failureWords(code: string): string {
  return Object.hasOwn(failures, code) ? failures[code as keyof typeof failures] : failures.invalid_request
}

const failures = {
  invalid_request: 'The application sent a request that can’t be answered. Go back to the application and start again.',
  invalid_client: 'This service does not know the application. Go back to the application and connect it again.',
  invalid_client_metadata: 'The application has invalid metadata. Contact its developer.',
  invalid_redirect_uri: 'The application’s redirect address is not registered. Contact its developer.',
  invalid_scope: 'The application asks for a permission that does not exist. Contact its developer.',
  invalid_target: 'The application asks for a resource that this service does not have. Contact its developer.',
  access_denied: 'You denied the request. The application gets no access.',
  server_error: 'Something went wrong here. Try again in a moment.',
  temporarily_unavailable: 'The service is busy. Try again in a moment.',
} as const satisfies Record<string, string>
