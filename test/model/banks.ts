import { expect } from 'vitest'
import { clearedAtMs, dateOf, isBankingDay } from './banking-days.ts'
import { book, type Planner, totalsOverLimits } from './money.ts'
import { chosen, type Party, type Transfer } from './state.ts'

/** For each processor token of the test bank, the last four digits of the accounts that the token links. */
export const lastFourByToken = {
  accounts: ['0000', '1111'],
  'deposits-fail': ['0001'],
  'deposits-return': ['0010'],
  'withdrawals-fail': ['0002'],
  'withdrawals-return': ['0023'],
  'some-rejected': ['0000'],
  'profile-identity-missing': [],
} as const satisfies Record<string, readonly string[]>

/** The direction and outcome of the transfers that fail or are returned, by the last four digits of their account. */
const failures: Readonly<Record<string, string>> = {
  '0001': 'deposit fail',
  '0010': 'deposit return',
  '0002': 'withdrawal fail',
  '0023': 'withdrawal return',
}

export const link: Planner<'link'> = ({ accounts }, { token, by }) => ({
  path: '/external-accounts/processor-token',
  by,
  attributes: { processorToken: `processor-sandbox-${token}` },
  expected: 201,
  done: (data: { id: string; attributes: { lastFour: string } }[]) => {
    expect(data.map(({ attributes }) => attributes.lastFour).sort()).toEqual([...lastFourByToken[token]])
    for (const { id, attributes } of data) {
      // Linking an account again keeps its id, and repairs its connection.
      const linked = accounts.find(({ lastFour }) => lastFour === attributes.lastFour)
      if (linked === undefined) accounts.push({ id, lastFour: attributes.lastFour, connection: 'active' })
      else Object.assign(linked, { connection: 'active' }, expect(id).toBe(linked.id))
    }
  },
})

export const disconnect: Planner<'disconnect'> = ({ accounts }, { pick, connection }) => {
  const account = chosen(accounts, pick)
  if (account === undefined) return undefined
  const done = () => {
    account.connection = connection
  }
  const path = `/simulations/external-accounts/${account.id}/disconnect`
  return { path, by: 'party', attributes: { connectionStatus: connection }, expected: 200, done }
}

/** Unlinks an account. The account is no longer listed, and its transfers that wait for an approval are canceled. */
export const unlink: Planner<'unlink'> = (self, { pick }) => {
  const account = chosen(self.accounts, pick)
  if (account === undefined) return undefined
  const done = () => {
    self.accounts.splice(self.accounts.indexOf(account), 1)
    account.connection = 'disconnected'
    for (const approval of self.approvals) {
      if (approval.status !== 'pending' || !('kind' in approval.subject) || approval.subject.account !== account)
        continue
      approval.status = 'canceled'
      approval.subject.status = 'CANCELED'
    }
  }
  return { method: 'DELETE', path: `/external-accounts/${account.id}`, by: 'party', expected: 200, done }
}

export const transfer: Planner<'transfer'> = (self, { kind, pick, by, amount, method }, { nowMs }) => {
  const account = chosen(self.accounts, pick, ({ connection }) => connection === 'active')
  if (account === undefined) return undefined
  const isDeposit = kind === 'deposit'
  const over = by === 'agent' ? totalsOverLimits(self, amount, nowMs) : []
  const isRefused = isDeposit ? account.connection !== 'active' : amount > self.purchases.balance.available
  return {
    path: isDeposit ? '/transfers/deposit' : '/transfers/withdraw',
    by,
    attributes: { amount, externalAccountId: account.id, ...(isDeposit ? {} : { method }) },
    expected: isRefused ? 409 : 200,
    done: ({ id, attributes }) => {
      const usedMethod = isDeposit ? 'standard' : method
      const transfer: Transfer = {
        id,
        kind,
        amount,
        status: 'IN_REVIEW',
        by,
        createdAtMs: nowMs,
        account,
        method: usedMethod,
        next: null,
      }
      self.transfers.push(transfer)
      if (over.length > 0) self.approvals.push({ id: '', subject: transfer, status: 'pending', over })
      else submit(self, transfer, nowMs)
      expect(attributes.status).toBe(transfer.status)
      const expectedAt = transfer.next === null ? null : new Date(transfer.next.atMs).toISOString()
      expect(attributes.expectedAvailableAt).toBe(expectedAt)
    },
  }
}

/** Submits the transfer to its bank. From then on, the amount of a withdrawal is held. */
export function submit({ purchases }: Party, transfer: Transfer, nowMs: number): void {
  const { kind, amount, account, method } = transfer
  transfer.status = 'PROCESSING'
  if (kind === 'withdrawal') purchases.balance.available -= amount
  const outcome = failures[account.lastFour] === `${kind} fail` ? 'fail' : 'settle'
  transfer.next = { outcome, atMs: arrivalMs(kind, method, nowMs) }
}

function arrivalMs(kind: Transfer['kind'], method: Transfer['method'], nowMs: number): number {
  if (method === 'instant') return nowMs + 5 * 60_000
  if (method === 'standard') return clearedAtMs(nowMs, kind === 'deposit' ? 2 : 1)
  const arrival = nowMs + 2 * 60 * 60_000
  return dateOf(arrival) === dateOf(nowMs) && isBankingDay(nowMs) ? arrival : clearedAtMs(nowMs, 1)
}

const requiredStatus = { settle: 'PROCESSING', fail: 'PROCESSING', return: 'COMPLETED' } as const

export const playBank: Planner<'playBank'> = (self, { pick, outcome }, { nowMs }) => {
  const one = chosen(self.transfers, pick, ({ status }) => status === requiredStatus[outcome])
  if (one === undefined) return undefined
  return {
    path: `/simulations/transfers/${one.id}/${outcome}`,
    by: 'party',
    ...(outcome === 'settle' ? {} : { attributes: {} }),
    expected: one.status === requiredStatus[outcome] ? 200 : 409,
    done: ({ attributes }) => {
      applyOutcome(self, one, outcome, nowMs)
      expect(attributes.status).toBe(one.status)
    },
  }
}

function applyOutcome(self: Party, transfer: Transfer, outcome: 'settle' | 'fail' | 'return', atMs: number): void {
  const { id: sourceId, kind, amount, account } = transfer
  const { balance } = self.purchases
  const sign = kind === 'deposit' ? 1 : -1
  transfer.next = null
  if (outcome === 'settle') {
    transfer.status = 'COMPLETED'
    if (kind === 'deposit') balance.available += amount
    balance.total += sign * amount
    book(self, { sourceId, amount, type: 'transfer', atMs, direction: kind === 'deposit' ? 'INBOUND' : 'OUTBOUND' })
    if (failures[account.lastFour] === `${kind} return`)
      transfer.next = { outcome: 'return', atMs: clearedAtMs(atMs, 2) }
  } else if (outcome === 'fail') {
    transfer.status = 'FAILED'
    if (kind === 'withdrawal') balance.available += amount
  } else {
    // The balance may become negative, because the party may have spent the deposit that is now returned.
    transfer.status = 'RETURNED'
    balance.available -= sign * amount
    balance.total -= sign * amount
    for (const move of self.moves) if (move.sourceId === sourceId) move.status = 'RETURNED'
  }
}

/** Applies the bank steps whose time has come. A single call may both settle a transfer and return it. */
export function applyBankSteps(self: Party, nowMs: number): void {
  for (const transfer of self.transfers) {
    for (let { next } = transfer; next !== null && next.atMs <= nowMs; next = transfer.next) {
      applyOutcome(self, transfer, next.outcome, next.atMs)
    }
  }
}
