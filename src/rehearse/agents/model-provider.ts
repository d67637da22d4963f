import type { LanguageModel } from 'ai'
import { ConfigError } from '../../config/load.ts'
import { parseBaseUrl } from '../../config/values.ts'
import { show } from '../../core/errors.ts'
import type { Fetch } from '../../core/in-process-fetch.ts'

/** Access to a model that a rehearsal can call. */
export interface ModelAccess {
  /** The name in reports, such as `openai:gpt-5`. */
  name: string
  sdk: typeof import('ai')
  /** The provider's API key; undefined if there is none. The key must never be printed. */
  key: string | undefined
  /** Returns the model. All requests to its provider go through the given `fetch`. */
  withFetch(fetch: Fetch): LanguageModel
}

type Environment = Readonly<Record<string, string | undefined>>

interface Connection {
  apiKey: string
  /** The base URL of the API; undefined for the provider's default. */
  baseURL: string | undefined
  fetch: Fetch
}

interface Provider {
  package: keyof typeof modelPackages
  /** The environment variables that may hold the API key. The first one that is set is used. */
  keys: readonly string[]
  baseUrlOf(env: Environment): string | undefined
  load(): Promise<(name: string, connection: Connection) => LanguageModel>
}

/** The optional packages, with the supported versions. `package.json` lists them as peer dependencies. */
export const modelPackages = {
  ai: '^7.0.173',
  '@ai-sdk/openai': '^4.0.118',
  '@ai-sdk/anthropic': '^4.0.105',
  '@ai-sdk/google': '^4.0.121',
  '@ai-sdk/openai-compatible': '^3.0.92',
} as const

const providers: Readonly<Record<string, Provider>> = {
  openai: {
    package: '@ai-sdk/openai',
    keys: ['OPENAI_API_KEY'],
    baseUrlOf: (env) => env.OPENAI_BASE_URL,
    load: async () => {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return (name, connection) => createOpenAI(withoutUndefined(connection))(name)
    },
  },
  anthropic: {
    package: '@ai-sdk/anthropic',
    keys: ['ANTHROPIC_API_KEY'],
    baseUrlOf: (env) => env.ANTHROPIC_BASE_URL,
    load: async () => {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return (name, connection) => createAnthropic(withoutUndefined(connection))(name)
    },
  },
  google: {
    package: '@ai-sdk/google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    // Google's own libraries expect a URL without the API version in this variable. The AI SDK needs the version.
    baseUrlOf: ({ GOOGLE_GEMINI_BASE_URL: url }) =>
      url === undefined ? undefined : `${url.replace(/\/+$/, '')}/v1beta`,
    load: async () => {
      const { createGoogle } = await import('@ai-sdk/google')
      return (name, connection) => createGoogle(withoutUndefined(connection))(name)
    },
  },
}

function withoutUndefined({ baseURL, ...connection }: Connection) {
  return baseURL === undefined ? connection : { ...connection, baseURL }
}

/**
 * Finds a model by the value of `--model`, and loads its packages.
 * @throws ConfigError if the value, a package or the key is missing or unusable
 */
export async function findModel(modelName: string, env: Environment): Promise<ModelAccess> {
  const [, provider = '', name = ''] = /^([a-z]+):(?!\/\/)(\S+)$/.exec(modelName) ?? []
  const providerEntry = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  if (providerEntry !== undefined) return providedModel(modelName, name, providerEntry, env)
  const [address = '', model = ''] = modelName.split(/#(.*)/s)
  const url = parseBaseUrl(address)
  if (url !== undefined && /^\S+$/.test(model)) return modelAt(url, model, modelName, env)
  // A URL may contain a password, so it is not shown.
  const got = modelName.includes('://') ? 'a URL that cannot be used' : show(modelName)
  throw new ConfigError(
    `--model got ${got}; it accepts openai:NAME, anthropic:NAME, google:NAME, or URL#NAME, where URL begins with https, or with http on a loopback host, without credentials or query.`,
  )
}

async function providedModel(
  modelName: string,
  name: string,
  provider: Provider,
  env: Environment,
): Promise<ModelAccess> {
  const [sdk, create] = await loadPackage(modelName, provider.package, provider.load)
  const apiKey = provider.keys.map((variable) => env[variable]).find((value) => value !== undefined && value !== '')
  if (apiKey === undefined) {
    throw new ConfigError(`--model got ${show(modelName)}, which needs a key: set ${provider.keys.join(' or ')}.`)
  }
  const baseURL = provider.baseUrlOf(env)
  return { name: modelName, sdk, key: apiKey, withFetch: (fetch) => create(name, { apiKey, baseURL, fetch }) }
}

/** Returns access to a model on a server that offers OpenAI's chat completions API. The API key is optional. */
async function modelAt(baseURL: string, name: string, modelName: string, env: Environment): Promise<ModelAccess> {
  const [sdk, create] = await loadPackage(modelName, '@ai-sdk/openai-compatible', async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return createOpenAICompatible
  })
  const key = env.MODEL_KEY === '' ? undefined : env.MODEL_KEY
  const settings = { name: 'model', baseURL, ...(key === undefined ? {} : { apiKey: key }) }
  return { name: `${baseURL}#${name}`, sdk, key, withFetch: (fetch) => create({ ...settings, fetch })(name) }
}

/** Loads a provider's optional packages. @throws ConfigError with the install command if packages are missing */
async function loadPackage<Loaded>(modelName: string, name: keyof typeof modelPackages, load: () => Promise<Loaded>) {
  try {
    return [await import('ai'), await load()] as const
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const packages = (['ai', name] as const).map((one) => `'${one}@${modelPackages[one]}'`).join(' ')
    throw new ConfigError(
      `--model got ${show(modelName)}, which needs packages that are not installed. Where payments-mcp is installed, run npm install ${packages} (with -g for a global installation).`,
    )
  }
}
