/** The options of the command besides the common ones: flags, meaning, default. */
export const simulateOptions = [
  ['--agents <number>', 'Simulated agents, each with an MCP connection of its own', '4'],
  ['--purchases <number>', 'Purchases per agent', '25'],
  ['--seed <text>', 'Decides everything they do: the same seed, the same log', 'payments'],
  ['--turns', 'The agents take turns: then they share cards and money, and the clock jumps', undefined],
  ['--concurrency <number>', 'Agents that call at the same time (default: all; 1 is --turns)', undefined],
  ['--processes', 'An MCP server process for each agent (default: all in this process)', undefined],
  ['--clock-jumps', 'Move the sandbox clock, in turns (default: with --turns on a database of its own)', undefined],
  ['--no-clock-jumps', 'Leave the sandbox clock alone', undefined],
  ['--without-faults', 'Let nothing fail on purpose, as on a database that is not its own', undefined],
  ['--log <file>', 'Write the log of all actions to a file', undefined],
  ['--verbose', 'Print the log of all actions', undefined],
  ['--json', 'Print the report as one JSON document', undefined],
] as const

export const simulateHelp = `
Every answer is compared with a model of the specification, and in the end all records and balances: a difference ends
the run with the shortest history of actions that shows it, and exit code 1.

By default the agents work on a new SQLite database that is removed at the end. With PAYMENTS_DATABASE_URL or
PAYMENTS_BASE_URL they work there, as the agent of PAYMENTS_KEY, and spend its money: nobody else may use its wallet and
that of its first customer meanwhile; the clock is moved only with --clock-jumps; no failing history is shortened.`
