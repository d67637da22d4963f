import { type EventResource, followEvents } from '../client/follow-events.ts'
import { createRemoteFetch } from '../client/remote.ts'
import { ConfigError } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { parseBaseUrl } from '../config/values.ts'
import { show } from '../core/errors.ts'
import { foreignText } from '../core/foreign-text.ts'
import { maskSecrets } from '../core/masking.ts'
import { secretPrefix, signedHeaders } from '../core/standard-webhooks.ts'
import { realSystem, type System } from '../core/system.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainFailures } from './explain-failure.ts'
import { integerOption } from './integer-option.ts'
import { interruptible } from './interruption.ts'
import { openClient } from './open-client.ts'
import { withoutCredentials } from './welcome.ts'

type ListenFlags = Flags & { forwardTo?: string; events?: string; since?: string; count?: string; json?: boolean }

/** Prints each event that the credential may read. With `--forward-to`, also forwards the event as a webhook would. */
export async function listen(flags: ListenFlags): Promise<void> {
  await explainFailures(async () => {
    const config = commandConfig('listen', flags)
    const types = flags.events?.split(',').map((type) => type.trim())
    const count = flags.count === undefined ? Number.POSITIVE_INFINITY : integerOption('--count', flags.count, 999_999)
    const target = flags.forwardTo === undefined ? undefined : parseTarget(flags.forwardTo)
    const { signal } = interruptible()
    // Text from a deployed API may contain control characters, which must not reach the terminal.
    const printStatus = (line: string) => process.stderr.write(`payments-mcp: ${foreignText(line)}\n`)
    const api = openClient(config, realSystem, createLogger({ level: 'error' }))
    const forward = target === undefined ? undefined : createForwarder(target, realSystem)
    const reportTrouble = (error: unknown) =>
      printStatus(`events cannot be read now: ${oneLine(error)}. Reading is retried automatically.`)
    let last: string | undefined
    let [printed, lost] = [0, 0]
    try {
      await api.ready()
      printStatus(
        `Ready. ${startLine(config, flags)}; ${forward?.described ?? 'without --forward-to, events are only printed'}`,
      )
      const events = followEvents({
        client: api.client,
        system: realSystem,
        since: flags.since,
        signal,
        onTrouble: reportTrouble,
      })
      for await (const event of events) {
        if (types !== undefined && !types.includes(event.attributes.eventType)) continue
        const outcome = await forward?.send(event, signal)
        if (signal.aborted) break
        last = event.id
        lost += outcome?.isDelivered === false ? 1 : 0
        process.stdout.write(`${flags.json === true ? jsonLine(event) : lineOf(event, outcome?.text)}\n`)
        printed += 1
        if (printed >= count) break
      }
    } finally {
      await forward?.close()
      await api.close()
    }
    if (last !== undefined) printStatus(`Events printed: ${printed}. To continue, use --since ${last}.`)
    if (lost > 0) printStatus(`Events that could not be delivered to ${forward?.address}: ${lost}.`)
    if (lost > 0) process.exitCode = 1
  })
}

/** Describes the events that the command prints, and the API or the database from which they come. */
function startLine({ baseUrl, databaseUrl }: Config, { events, since }: ListenFlags): string {
  const source = baseUrl ?? `the embedded sandbox in ${withoutCredentials(databaseUrl)}`
  const start = since === undefined ? 'now' : since === 'oldest' ? 'with the oldest' : `after ${since}`
  return `Following ${events ?? 'all events'} from ${source}, starting ${start}`
}

/** Parses the address to which events are forwarded. @throws ConfigError */
function parseTarget(text: string): string {
  const url = parseBaseUrl(text.replace(/\?.*$/s, '')) === undefined ? undefined : URL.parse(text)?.href
  if (url !== undefined) return url
  const accepts = 'an https address, or http on a loopback host, without credentials or fragment'
  throw new ConfigError(
    `--forward-to got ${show(text)}; it accepts ${accepts}, such as http://127.0.0.1:3000/webhooks.`,
  )
}

/** The pause before each retry. */
const retryPausesMs = [1_000, 2_000, 5_000, 10_000]
const answerTimeoutMs = 15_000

interface Outcome {
  isDelivered: boolean
  text: string
}

/** Creates a sender of events to one address, with a new secret that signs every event. */
function createForwarder(url: string, system: System) {
  const remote = createRemoteFetch()
  const secret = `${secretPrefix}${system.randomBytes(32).toString('base64')}`
  const tryOnce = async (event: EventResource, signal: AbortSignal): Promise<Outcome> => {
    const body = webhookBody(event)
    const headers = signedHeaders({ id: event.id, body }, [secret], system.now())
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)])
      const { status } = await remote.fetch(new Request(url, { method: 'POST', headers, body, signal: limit }))
      return { isDelivered: status >= 200 && status < 300, text: `${status}` }
    } catch (error) {
      return { isDelivered: false, text: oneLine(error) }
    }
  }
  const send = async (event: EventResource, signal: AbortSignal): Promise<Outcome> => {
    let outcome = await tryOnce(event, signal)
    for (const pauseMs of retryPausesMs) {
      if (outcome.isDelivered || signal.aborted) return outcome
      await system.sleep(pauseMs, signal).catch(() => {})
      outcome = await tryOnce(event, signal)
    }
    return outcome
  }
  // The query of the address is not printed, because it often contains a secret.
  const address = url.replace(/\?.*$/s, '')
  const described = `forwarding to ${address}, signed with the secret ${secret}`
  return { address, described, send, close: remote.close }
}

/** Returns the body that a webhook would send for the event. */
function webhookBody({ id, attributes }: EventResource): string {
  const { eventType: type, resourceId, resourceType, createdAt, payload } = attributes
  return JSON.stringify({ id, object: 'event', type, resourceId, resourceType, createdAt, data: payload })
}

/** Returns an event as JSON. Escapes the control characters that JSON permits in strings, such as U+009B. */
function jsonLine(event: EventResource): string {
  return webhookBody(event).replace(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}

function lineOf({ id, attributes }: EventResource, outcome: string | undefined): string {
  const { createdAt, eventType, resourceId } = attributes
  const line = `${createdAt} ${eventType} ${resourceId ?? ''} ${id}${outcome === undefined ? '' : ` → ${outcome}`}`
  // Text from a deployed API may contain control characters.
  return maskSecrets(line.replace(/[^\x20-\x7e→]+/g, ' '))
}

/** Describes an error in one line. If the error has a cause, describes the cause, which is more specific. */
function oneLine(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message
  return reason === '' ? 'the answer could not be read' : maskSecrets(reason.replace(/\s+/g, ' '))
}
