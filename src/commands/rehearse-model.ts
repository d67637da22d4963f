import { ConfigError, foreignEnvironment } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { foreignText } from '../core/foreign-text.ts'
import type { Agent } from '../rehearse/agent.ts'
import { modelAgent } from '../rehearse/agents/model.ts'
import { findModel } from '../rehearse/agents/model-provider.ts'
import type { ModelSettings } from '../rehearse/trial-record.ts'
import { integerOption } from './integer-option.ts'

export interface ModelFlags {
  agent?: string
  model?: string
  temperature?: string
  maxSteps?: string
  maxOutputTokens?: string
  price?: string
}

/** The flags that apply only to a model, each with the name of its property in `ModelFlags`. */
const modelOptions = [
  ['--temperature', 'temperature'],
  ['--max-steps', 'maxSteps'],
  ['--max-output-tokens', 'maxOutputTokens'],
  ['--price', 'price'],
] as const

/** Refuses flags that apply only to a model. Called for agents that are not models. @throws ConfigError */
export function refuseModelOptions(flags: ModelFlags): void {
  const [flag] = modelOptions.find(([, name]) => flags[name] !== undefined) ?? []
  if (flag !== undefined) throw new ConfigError(`${flag} works only with --model.`)
}

/** Creates an agent from a model. @throws ConfigError if an option, a package or a key cannot be used */
export async function modelOf(modelName: string, flags: ModelFlags): Promise<Agent> {
  if (flags.agent !== undefined) throw new ConfigError('Give --model or --agent, not both.')
  const { temperature, maxSteps = '60', maxOutputTokens, price } = flags
  const settings: ModelSettings = { maxSteps: integerOption('--max-steps', maxSteps, 1_000) }
  if (temperature !== undefined) settings.temperature = temperatureOption(temperature)
  if (maxOutputTokens !== undefined) {
    settings.maxOutputTokens = integerOption('--max-output-tokens', maxOutputTokens, 500_000)
  }
  if (price !== undefined) settings.price = priceOption(price)
  const access = await findModel(modelName, foreignEnvironment())
  printWarningsOnce()
  return modelAgent(access, settings)
}

/** Prints each warning of the AI SDK only once, such as the warning that a model ignores the temperature. */
function printWarningsOnce(): void {
  const printed = new Set<string>()
  globalThis.AI_SDK_LOG_WARNINGS = ({ warnings, model = 'model' }) => {
    for (const warning of warnings) {
      const about = 'feature' in warning ? [warning.feature, warning.details ?? warning.type] : [warning.message]
      const text = foreignText([model, ...about].join(': '))
      if (!printed.has(text)) process.stderr.write(`payments-mcp: ${text}\n`)
      printed.add(text)
    }
  }
}

function temperatureOption(text: string): number {
  if (/^(?:[01](?:\.\d{1,3})?|2(?:\.0{1,3})?)$/.test(text)) return Number(text)
  throw new ConfigError(`--temperature got ${show(text)}; it accepts a number from 0 to 2, such as 0.7.`)
}

function priceOption(text: string): { input: number; output: number } {
  const [, input, output] = /^(\d{1,5}(?:\.\d{1,4})?)\/(\d{1,5}(?:\.\d{1,4})?)$/.exec(text) ?? []
  if (input !== undefined && output !== undefined) return { input: Number(input), output: Number(output) }
  throw new ConfigError(
    `--price got ${show(text)}; it accepts dollars per million tokens of input and of output, such as 1.25/10.`,
  )
}
