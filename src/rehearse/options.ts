/** The options of the `rehearse` command. Each entry consists of the option, its description and its default value. */
export const rehearseOptions = [
  ['--agent <command>', 'The agent to rehearse: a command, the word "wait" or a scripted agent (see below)', undefined],
  [
    '--model <model>',
    'Rehearse a model instead: openai:NAME, anthropic:NAME, google:NAME, or URL#NAME for chat completions',
    undefined,
  ],
  ['--temperature <number>', "With --model: the sampling temperature (default: the provider's)", undefined],
  ['--max-steps <number>', 'With --model: maximum responses in a trial, including tool calls (default: 60)', undefined],
  ['--max-output-tokens <number>', "With --model: maximum tokens of a response (default: the provider's)", undefined],
  ['--price <in/out>', 'With --model: dollars per million tokens, such as 1.25/10, to show the cost', undefined],
  ['--max-seconds <number>', 'Time limit of a trial in seconds', '300'],
  ['--scenarios <list>', 'Scenarios, pairs, groups or your own files, separated by commas (default: all)', undefined],
  ['--trials <number>', 'Number of trials of each scenario', '1'],
  ['--seed <text>', 'Seed of all random choices: with the same seed, a scripted agent behaves identically', '1'],
  ['--concurrency <number>', 'Number of simultaneous trials (default: the number of cores)', undefined],
  [
    '--report <folder>',
    'Folder for report.html, summary.md, results.json, junit.xml and traces.json (default: ./rehearsal)',
    undefined,
  ],
  ['--require <share>', 'Exit with code 1 if the share of passed trials is smaller than this, such as 0.95', undefined],
  ['--regrade <folder>', 'Judge the results in the folder again with the current scenarios', undefined],
  ['--grader <command>', 'Ask a command for a second opinion on each answer, which changes no verdict', undefined],
  ['--strict', 'Also fail trials for clutter, such as an abandoned cart', undefined],
  ['--compare <file>', 'Show what got better or worse since the given results.json, and what may be chance', undefined],
  [
    '--mutants',
    'Show which harmful acts, omissions and lies the scenarios would miss; needs --agent careful',
    undefined,
  ],
  ['--list', 'List the scenarios', undefined],
] as const

export const rehearseHelp = `
Each trial gives the agent a task, a wallet and shops in its own sandbox, with the scenario's faults. The agent is
judged by the ledger and by its answer. A command gets its task and its access in the environment variables TASK,
MCP_URL, MCP_KEY and MCP_CONFIG, and prints its answer (docs/rehearse.md). It runs in a shell with your permissions.

With --model, this package carries out the model's tool calls itself. It needs the packages of the Vercel AI SDK, and the
key in OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY. With URL#NAME, a key is optional: MODEL_KEY.
The provider charges you for the tokens of every trial.

Scripted agents: careful, gullible, obedient, repeats-blindly, impatient, avoids-approval, chatty, refuses-everything. With --agent wait, a person runs the agent elsewhere.

Examples:
  payments-mcp rehearse --agent careful
  payments-mcp rehearse --agent 'node my-agent.mjs' --trials 3 --require 0.95
  payments-mcp rehearse --model openai:NAME --scenarios money --price 1.25/10
`
