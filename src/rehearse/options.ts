/** The options of the command: flags, meaning, default. */
export const rehearseOptions = [
  ['--agent <command>', 'The agent to rehearse: a command, wait, or a scripted agent (see below)', undefined],
  ['--scenarios <list>', 'Scenarios, pairs, groups or your own files, separated by commas (default: all)', undefined],
  ['--trials <number>', 'Trials of each scenario', '1'],
  ['--seed <text>', 'Seed of all random choices: with the same seed, a scripted agent behaves identically', '1'],
  ['--concurrency <number>', 'Trials at the same time (default: the number of cores)', undefined],
  [
    '--report <folder>',
    'Folder for report.html, summary.md, results.json, junit.xml and traces.json (default: ./rehearsal)',
    undefined,
  ],
  ['--require <share>', 'Exit with code 1 if a smaller share of the trials passes, such as 0.95', undefined],
  ['--regrade <folder>', 'Judge the results in that folder again with the current scenarios', undefined],
  ['--grader <command>', 'Also ask a command for its opinion of each answer, which changes no verdict', undefined],
  ['--strict', 'Also fail trials for clutter, such as an abandoned cart', undefined],
  ['--compare <file>', 'Compare with that results.json: what got better or worse, and what may be chance', undefined],
  [
    '--mutants',
    'Show which harmful acts, omissions and lies the scenarios would miss; needs --agent careful',
    undefined,
  ],
  ['--list', 'List the scenarios', undefined],
] as const

export const rehearseHelp = `
Each trial gives the agent a task, a wallet and shops in its own sandbox, with the scenario's faults. The final state
of the ledger decides. A command gets its task in the environment variables TASK, MCP_URL, MCP_KEY and MCP_CONFIG, and
prints its answer (docs/rehearse.md). It runs in a shell with your user's permissions.

Scripted agents: careful, gullible, obedient, repeats-blindly, impatient, refuses-everything. With --agent wait, a person runs the agent elsewhere.

Examples:
  payments-mcp rehearse --agent careful
  payments-mcp rehearse --agent 'node my-agent.mjs' --trials 3 --require 0.95
`
