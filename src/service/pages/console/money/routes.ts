import type { Context, Hono } from 'hono'
import type { Show } from '../../frame/answers.ts'
import type { Html } from '../../frame/document.ts'
import { consoleHeaders } from '../../frame/headers.ts'
import { consolePage, partAnswer, versionOf } from '../console-page.ts'
import { type ConsoleDependencies, servePage, showNotFound } from '../serve-page.ts'
import { listsOf, waitingOf, walletsOf } from './parts.ts'
import type { MoneyReads } from './read-money.ts'
import { listsPart, moneyMain, waitingPart, walletMain, walletPart, walletsPart } from './view.ts'
import { partAddress, walletName } from './words.ts'

interface MoneyPages extends ConsoleDependencies {
  reads: MoneyReads
}

/** Mounts the money page and the wallet pages. */
export function mountMoney(app: Hono, dependencies: ConsoleDependencies, reads: MoneyReads): void {
  const pages: MoneyPages = { ...dependencies, reads }
  servePage(app, '/console/money', dependencies, (c, _, signedIn) => showMoney(c, pages, signedIn))
  servePage(app, '/console/money/wallets/:walletId', dependencies, (c, _, signedIn) => showWallet(c, pages, signedIn))
}

const showMoney: Show<MoneyPages> = async (c, pages, signedIn) => {
  const { reads } = pages
  const [part, list, cursor] = ['part', 'list', 'cursor'].map((name) => c.req.query(name))
  const shownPage = { ...(list === undefined ? {} : { list }), ...(cursor === undefined ? {} : { cursor }) }
  if (part === 'waiting') {
    const waiting = await waitingOf(reads, signedIn)
    return partAnswer(c, waitingPart(waiting), versionOf(waiting))
  }
  if (part === 'wallets') return partAnswer(c, walletsPart(await walletsOf(reads, signedIn)))
  const lists = await listsOf(reads, signedIn, shownPage)
  if (part === 'lists') return partAnswer(c, listsPart(lists))
  const all = { ...(await walletsOf(reads, signedIn)), ...lists, lists: partAddress('lists', shownPage) }
  return page(c, 'Money', moneyMain(all, await waitingOf(reads, signedIn)))
}

const showWallet: Show<MoneyPages> = async (c, pages, signedIn) => {
  const { reads } = pages
  const [id, before] = [c.req.param('walletId') ?? '', c.req.query('before')]
  const wallet = await reads.wallet(signedIn.user, id, before ?? null)
  if (wallet === undefined) return showNotFound(c, signedIn, 'Wallet not found.')
  const content = walletPart(wallet, { partyId: signedIn.user.partyId, nowMs: await reads.now() })
  if (c.req.query('part') === 'wallet') return partAnswer(c, content)
  const name = walletName(wallet.displayName)
  const query = new URLSearchParams({ part: 'wallet', ...(before === undefined ? {} : { before }) })
  return page(c, name, walletMain(content, name, `/console/money/wallets/${id}?${query}`))
}

function page(c: Context, title: string, main: Html) {
  return c.html(consolePage({ title, main }), 200, consoleHeaders)
}
