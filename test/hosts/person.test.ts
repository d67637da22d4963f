import { afterEach, expect, test } from 'vitest'
import { type HostRun, hosts, newHome, runHost } from './hosts.ts'
import type { Step } from './model/script.ts'
import { type ScriptedModel, scriptedModel } from './model/server.ts'
import { callTool, stdioServer } from './world.ts'

/** The settings with which a person must confirm each new card. */
const confirmEveryCard = { PAYMENTS_CONFIRM: 'always', PAYMENTS_CONFIRM_ABOVE: '0' }

const steps: Step[] = [
  {
    call: 'issue_agent_card',
    arguments: () => ({ merchant: { name: 'Books' }, maximumAmount: 5000 }),
  },
  { say: () => 'Done.' },
]

let model: ScriptedModel
let home: ReturnType<typeof newHome>
afterEach(async () => {
  await model.close()
  home.remove()
})

/** Runs a host whose model issues a card. Returns the results that the model reads, and the issued cards. */
async function issueCard(host: (typeof hosts)[number], person?: HostRun['person']) {
  model = await scriptedModel(steps)
  home = newHome()
  const mcp = stdioServer(home.home, confirmEveryCard)
  await runHost(host, { home: home.home, mcp, model: model.url, ...(person === undefined ? {} : { person }) })
  return { results: model.results().join('\n'), cards: (await callTool(home.home, 'list_agent_cards')).data }
}

test.each(hosts)('if $name cannot ask a person, the model learns why no card is issued', async (host) => {
  const { results, cards } = await issueCard(host)
  expect(cards).toEqual([])
  expect(results).toMatch(/host did not show|A person has to decide this/i)
})

const hostsWithPerson = hosts.filter((host) => host.canAskPerson)

test.each(hostsWithPerson)('if the person at $name declines, the model learns why no card is issued', async (host) => {
  const { results, cards } = await issueCard(host, { answer: { action: 'decline' }, afterMs: 2_000 })
  expect(cards).toEqual([])
  expect(results).toMatch(/person did not agree/i)
})

test.each(hostsWithPerson)('if the person at $name accepts, the card is issued', async (host) => {
  const { cards } = await issueCard(host, { answer: { action: 'accept', content: { confirm: true } }, afterMs: 2_000 })
  expect(cards).toHaveLength(1)
})
