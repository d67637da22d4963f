/** The options that only `simulate` has. Each entry has the flag with its value, the description and the default. */
export const simulateOptions = [
  ['--agents <number>', 'Number of simulated agents, each with its own MCP connection', '4'],
  ['--purchases <number>', 'Purchases per agent', '25'],
  ['--seed <text>', 'Seed of all random choices: the same seed gives the same log', 'payments'],
  ['--turns', 'Let the agents take turns: they then share cards and money', undefined],
  ['--concurrency <number>', 'Number of agents calling at the same time (default: all; 1 implies --turns)', undefined],
  ['--processes', 'Start an MCP server process for each agent (default: all run in this process)', undefined],
  ['--clock-jumps', 'Advance the sandbox clock; implies --turns (default: with --turns on a new database)', undefined],
  ['--no-clock-jumps', 'Never advance the sandbox clock', undefined],
  ['--without-faults', 'Inject no failures (by default they are injected only on a new database)', undefined],
  ['--log <file>', 'Write the log of all actions to a file', undefined],
  ['--verbose', 'Print the log of all actions', undefined],
  ['--json', 'Print the report as one JSON document', undefined],
] as const

export const simulateHelp = `
A model of the specification predicts every answer, and finally all records and balances. If anything differs from
the prediction, the run prints the shortest failing history of actions that it finds, and ends with exit code 1.

By default the agents work on a new SQLite database that is removed at the end. With PAYMENTS_DATABASE_URL or
PAYMENTS_BASE_URL they work on that database or API, as the agent of PAYMENTS_KEY, and spend its money. During the run
nobody else may use the wallets of the agent and of its first customer. On that database or API, only --clock-jumps
moves the sandbox clock, and failing histories are not shortened.`
