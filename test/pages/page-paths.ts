import type { PageRoute } from '../../src/service/rules/page-needs.ts'
import type { Grounds } from '../adversary/doors.ts'
import { authorizationUrl, createApplication } from '../oauth/application.ts'
import { lastEntryOf } from '../runs/stored-entries.ts'

export type GetRoute = PageRoute & `GET ${string}`

/** Creates records to show, and returns a path for each page. The return type ensures that no page is missing. */
export async function pagePaths(grounds: Grounds): Promise<Record<GetRoute, string>> {
  const { links, paths, site } = grounds
  const { world } = site
  const instanceId = 'run 1'
  const cardId = await world.issueCard({ maximumAmount: 700 }, { instanceId })
  await world.authorize(cardId, 400, { instanceId })
  const refused = await world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })
  if (refused.status !== 422) throw new Error(refused.text)
  const { runId, id: entryId, supportId } = await lastEntryOf(world, instanceId)
  const { json } = await world.get('/wallets')
  const { pathname, search } = new URL((await authorizationUrl(await createApplication(world))).url)
  const signInLink = new URL(String(await world.service.signInLink('/console')))
  return {
    'GET /': '/',
    'GET /sign-in': '/sign-in',
    'GET /sign-in/once/:code': signInLink.pathname + signInLink.search,
    'GET /checkout/form': '/checkout/form',
    'GET /checkout/manage/:manageToken': links.manage,
    'GET /checkout/:subscriptionId/:pageToken': links.checkout,
    'GET /checkout/:subscriptionId': links.checkout.split('/').slice(0, 3).join('/'),
    'GET /connect/:token': links.invitation,
    'GET /connect/links/:token': links.invitationLink,
    'GET /claim/:token': links.claim,
    'GET /join/:token': links.partyInvitation,
    'GET /request/:token': links.paymentRequest,
    'GET /shops': '/shops',
    'GET /shops/:shopId': '/shops/plain-goods',
    'GET /shops/checkouts/:token': links.shopCheckout,
    'GET /shops/orders/:token': links.shopOrder,
    'GET /verify/:challenge': links.challenge,
    'GET /second-factor': '/second-factor',
    'GET /cards/:token': links.card,
    'GET /approvals/:approvalId/review': paths.approval,
    'GET /decisions': '/decisions',
    'GET /decide/:decisionId': paths.decision,
    // An authorization request. It redirects to the consent page.
    'GET /oauth/consent/:uid': pathname + search,
    'GET /connections': '/connections',
    'GET /connections/new/application': '/connections/new/application',
    'GET /connections/new/identity-provider': '/connections/new/identity-provider',
    'GET /console': '/console',
    'GET /console/find': `/console/find?id=${cardId}`,
    'GET /console/requests/:id': `/console/requests/${supportId}`,
    'GET /console/records/:recordId': `/console/records/${cardId}`,
    'GET /console/search': '/console/search?text=merchant',
    'GET /console/runs/:runId': `/console/runs/${runId}`,
    'GET /console/runs/:runId/entries/:entryId': `/console/runs/${runId}/entries/${entryId}`,
    'GET /console/runs/:runId/report': `/console/runs/${runId}/report`,
    'GET /console/money': '/console/money',
    'GET /console/money/wallets/:walletId': `/console/money/wallets/${json.data[0].id}`,
    'GET /console/sandbox': '/console/sandbox',
    'GET /console/stream': '/console/stream?topic=nothing',
    'GET /console/*': '/console/nothing',
  }
}
