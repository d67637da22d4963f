/** The command's options. Each entry has the flags, the meaning and the default. */
export const rehearseOptions = [
  ['--agent <command>', 'The agent to rehearse: a command, wait, or a scripted agent (see below)', undefined],
  [
    '--model <model>',
    'Rehearse a model instead: openai:NAME, anthropic:NAME, google:NAME, or URL#NAME for chat completions',
    undefined,
  ],
  ['--temperature <number>', "With --model: its temperature (default: the provider's)", undefined],
  ['--max-steps <number>', 'With --model: the most answers in a trial, including tool calls (default: 60)', undefined],
  ['--max-output-tokens <number>', "With --model: the most tokens of an answer (default: the provider's)", undefined],
  ['--price <in/out>', 'With --model: dollars per million tokens, such as 1.25/10, to show the cost', undefined],
  ['--max-seconds <number>', 'Time limit of a trial in seconds', '300'],
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

With --model, this package carries out the model's tool calls itself. It needs the packages of the Vercel AI SDK, and the
key in OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY; URL#NAME takes it from MODEL_KEY, if any.
Every trial costs what the provider asks for its tokens.

Scripted agents: careful, gullible, obedient, repeats-blindly, impatient, avoids-approval, chatty, refuses-everything. With --agent wait, a person runs the agent elsewhere.

Examples:
  payments-mcp rehearse --agent careful
  payments-mcp rehearse --agent 'node my-agent.mjs' --trials 3 --require 0.95
  payments-mcp rehearse --model openai:NAME --scenarios money --price 1.25/10
`
