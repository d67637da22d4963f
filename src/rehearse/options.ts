/** The options of the command: flags, meaning, default. */
export const rehearseOptions = [
  ['--agent <command>', 'What is rehearsed: a command, wait, or a scripted agent of the package', undefined],
  [
    '--scenarios <list>',
    "Names of scenarios, pairs or groups, or files of one's own, by commas (default: all)",
    undefined,
  ],
  ['--trials <number>', 'Trials of each scenario', '1'],
  ['--seed <text>', 'Decides all that is random: with it a scripted agent does the same again', '1'],
  ['--concurrency <number>', 'Trials at the same time (default: the number of cores)', undefined],
  [
    '--report <folder>',
    'Where report.html, summary.md, results.json, junit.xml and traces.json go (default: ./rehearsal)',
    undefined,
  ],
  ['--require <share>', 'End with exit code 1 where a smaller share of the trials passed, such as 0.95', undefined],
  ['--regrade <folder>', 'Judge the results of that folder again, by the scenarios as they are now', undefined],
  ['--grader <command>', 'Ask a command for its opinion of each answer too; no verdict goes by it', undefined],
  ['--strict', 'Let a trial fail by what gives nothing away too, such as an abandoned cart', undefined],
  [
    '--compare <file>',
    'Say what got better or worse since the results in that results.json, and what may be chance',
    undefined,
  ],
  [
    '--mutants',
    'Show which harmful acts, omissions and lies the scenarios would miss; goes with --agent careful',
    undefined,
  ],
  ['--list', 'List the scenarios', undefined],
] as const

export const rehearseHelp = `
Each trial gives the agent a task, a wallet and shops in a sandbox of its own, in which things go wrong as the scenario
says; what the ledger shows in the end decides. A command finds its task in the environment, as TASK, MCP_URL, MCP_KEY and
MCP_CONFIG, and what it prints is its answer (docs/rehearse.md). It is run by a shell, as whoever runs this command.

Scripted agents: careful, gullible, repeats-blindly, refuses-everything. With wait, a person runs the agent elsewhere.

Examples:
  payments-mcp rehearse --agent careful
  payments-mcp rehearse --agent 'node my-agent.mjs' --trials 3 --require 0.95
`
