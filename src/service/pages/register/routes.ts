import type { Context, Hono } from 'hono'
import type { OperationKey } from '../../../../tools/index.ts'
import { foreignName } from '../../../core/foreign-text.ts'
import { defaultOAuthScopes } from '../../../core/permissions.ts'
import { managesParty } from '../../oauth/connections.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { asUser, readAsUser } from '../../request/in-process.ts'
import type { Dependencies } from '../../request/pipeline.ts'
import type { Reply } from '../../request/reply.ts'
import { ownForm, type Show, type Take, withFailurePage } from '../frame/answers.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import type { Html } from '../frame/document.ts'
import { messagePage } from '../frame/form-page.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { statusOf } from '../frame/refusals.ts'
import {
  type Agent,
  type ApplicationEntry,
  applicationEntry,
  applicationRequest,
  type Problems,
  type ProviderEntry,
  providerEntry,
  providerRequest,
  withoutPrivateKey,
} from './entries.ts'
import { applicationProblems, providerProblems } from './refusals.ts'
import { type NewApplication, type NewTrustedIssuer, registeredPage, trustedPage } from './registered.ts'
import { applicationPage, providerPage } from './view.ts'

type RegisterDependencies = Dependencies & PageDependencies

/** The size limit of a form in bytes. It is enough for five large keys or twenty rules. */
const maxBytes = 32 * 1024

const applicationPath = '/connections/new/application'
const providerPath = '/connections/new/identity-provider'

/**
 * Mounts two forms for owners and administrators. One registers an application that signs in by itself; the other
 * trusts an identity provider. Each form runs an API operation as the signed-in user. A new secret is shown only in the
 * response to the form.
 */
export function mountRegister(app: Hono, dependencies: RegisterDependencies): void {
  const serve = pageRoutes(app, dependencies, withFailurePage)
  serve('GET /connections/new/application', requireManager(showApplication))
  serve(
    `POST ${applicationPath}`,
    ownForm(() => applicationPath, takeApplication),
    { maxBytes },
  )
  serve('GET /connections/new/identity-provider', requireManager(showProvider))
  serve(
    `POST ${providerPath}`,
    ownForm(() => providerPath, takeProvider),
    { maxBytes },
  )
}

/**
 * Wraps `show` so that only owners and administrators get the form. Other members get a refusal. The API operation
 * checks the user's role again when the form is sent.
 */
function requireManager(show: Show<RegisterDependencies>): Show<RegisterDependencies> {
  return (c, pages, signedIn) => {
    if (managesParty(signedIn.user)) return show(c, pages, signedIn)
    const text = 'Members cannot register applications or trust identity providers. Ask an owner or administrator.'
    return c.html(messagePage('Only for owners and administrators', text, back), 403, headers)
  }
}

const back = { href: '/connections', text: 'See your connected applications' }

const showApplication: Show<RegisterDependencies> = async (c, pages, signedIn) => {
  const agents = await agentsOf(pages, signedIn)
  const entry = { name: '', agentId: onlyId(agents), scopes: defaultOAuthScopes, proof: 'secret', keys: '' } as const
  return renderApplication(c, signedIn, { agents, entry, problems: {} })
}

const takeApplication: Take<RegisterDependencies> = async (c, pages, signedIn, sent) => {
  const entry = applicationEntry(sent)
  const agents = await agentsOf(pages, signedIn)
  const result = applicationRequest(entry, agents)
  const shown = { agents, entry: withoutPrivateKey(entry) }
  if ('problems' in result) return renderApplication(c, signedIn, { ...shown, problems: result.problems }, 422)
  const reply = await asUser(pages, signedIn.user, 'createApplication', { params: {}, ...result })
  if (reply.status !== 201) {
    return renderApplication(c, signedIn, { ...shown, problems: applicationProblems(reply) }, statusOf(reply))
  }
  const agentName = agents.find(({ id }) => id === entry.agentId)?.name ?? entry.agentId
  return c.html(
    registeredPage({ ...attributesOf<NewApplication>(reply), agentName, baseUrl: pages.publicUrl() }),
    201,
    headers,
  )
}

const showProvider: Show<RegisterDependencies> = async (c, pages, signedIn) => {
  const agents = await agentsOf(pages, signedIn)
  const rules = [{ claim: 'email', value: '', agentId: onlyId(agents) }]
  const entry = { name: '', issuer: '', jwksUri: '', rules, scopes: defaultOAuthScopes }
  return renderProvider(c, signedIn, { agents, entry, problems: {} })
}

const takeProvider: Take<RegisterDependencies> = async (c, pages, signedIn, sent) => {
  const entry = providerEntry(sent)
  const agents = await agentsOf(pages, signedIn)
  if (sent.get('action') === 'add') {
    const rules = [...entry.rules, { claim: '', value: '', agentId: onlyId(agents) }]
    return renderProvider(c, signedIn, { agents, entry: { ...entry, rules }, problems: {}, isAdded: true })
  }
  const result = providerRequest(entry, agents)
  if ('problems' in result) return renderProvider(c, signedIn, { agents, entry, problems: result.problems }, 422)
  const reply = await asUser(pages, signedIn.user, 'createTrustedIssuer', { params: {}, ...result })
  if (reply.status !== 201) {
    return renderProvider(c, signedIn, { agents, entry, problems: providerProblems(reply) }, statusOf(reply))
  }
  return c.html(trustedPage({ ...attributesOf<NewTrustedIssuer>(reply), baseUrl: pages.publicUrl() }), 201, headers)
}

type Status = 200 | 422 | ReturnType<typeof statusOf>

interface State<Entry> {
  agents: readonly Agent[]
  entry: Entry
  problems: Problems<Entry>
  /** Whether the person has just added another rule. */
  isAdded?: boolean
}

function renderApplication(c: Context, { formToken }: SignedIn, state: State<ApplicationEntry>, status: Status = 200) {
  const page = applicationPage({ ...state, action: applicationPath, token: formToken(applicationPath) })
  return answer(c, page, status)
}

function renderProvider(c: Context, { formToken }: SignedIn, state: State<ProviderEntry>, status: Status = 200) {
  const page = providerPage({ ...state, action: providerPath, token: formToken(providerPath) })
  return answer(c, page, status)
}

const answer = (c: Context, page: Html, status: Status) => c.html(page, status, headers)

/** Returns the agents that the person can choose from: the newest active ones, at most 100. */
async function agentsOf(pages: RegisterDependencies, { user }: SignedIn): Promise<Agent[]> {
  const query = { status: 'ACTIVE', limit: '100' }
  const { body } = await readAsUser(pages, user, 'listAgents' satisfies OperationKey, { params: {}, query })
  const { data } = JSON.parse(body) as { data: { id: string; attributes: { name: string } }[] }
  return data.map(({ id, attributes: { name } }) => ({ id, name: foreignName(name, id, 100) }))
}

function onlyId(agents: readonly Agent[]): string {
  const [only, ...others] = agents
  return only !== undefined && others.length === 0 ? only.id : ''
}

function attributesOf<Attributes>({ body }: Reply): Attributes {
  return (JSON.parse(body) as { data: { attributes: Attributes } }).data.attributes
}
