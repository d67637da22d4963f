import { timestamp } from '../../../core/system.ts'
import type { Counted, RunReport } from '../../rules/run-report.ts'
import type { RunDetail } from '../../rules/runs.ts'
import type { Store } from '../../store/engine/store.ts'
import { runEntriesAfter } from '../../store/runs.ts'
import type { RunEntryRow, RunRow } from '../../store/schema/runs.ts'

const batch = 500
/** The maximum number of questions in a report. The limit keeps the list short enough for a person to read. */
const maxQuestions = 500

class Tally {
  readonly #counts = new Map<string, Counted>()

  add(counterName: string, operation: string): void {
    const name = `${counterName} ${operation}`
    const counter = this.#counts.get(name)
    if (counter === undefined) this.#counts.set(name, { what: counterName, operation, count: 1 })
    else counter.count++
  }

  counts(): Counted[] {
    return [...this.#counts.values()].sort(
      (one, other) =>
        other.count - one.count || (`${one.what} ${one.operation}` < `${other.what} ${other.operation}` ? -1 : 1),
    )
  }
}

/** Summarizes at most `maxCount` stored entries of a run, beginning with the oldest. */
export async function tally(store: Pick<Store, 'read'>, run: RunRow, maxCount: number) {
  const sums = new RunTally()
  const scope = { partyId: run.partyId, runId: run.id }
  let afterId = ''
  for (;;) {
    // Reads one row more than the maximum, to find out whether the run has more entries.
    const limit = Math.min(batch, maxCount + 1 - sums.entries)
    const found = await store.read((tx) => runEntriesAfter(tx, scope, { afterId, limit }))
    const isMore = sums.entries + found.length > maxCount
    for (const entry of isMore ? found.slice(0, -1) : found) sums.add(entry)
    afterId = found.at(-1)?.id ?? afterId
    if (isMore || found.length < limit) return { ...sums.figures(), complete: !isMore }
  }
}

class RunTally {
  entries = 0
  #calls = 0
  #toolReads = 0
  readonly #repeats = new Tally()
  readonly #faults = new Tally()
  readonly #refusals = new Tally()
  readonly #questions: RunReport['questions'] = []
  readonly #postings = { count: 0, sumCents: 0, unbalanced: 0 }

  add(entry: RunEntryRow): void {
    const { operation, outcome, kind, code, fault } = entry
    this.entries++
    if (kind === 'call') this.#calls++
    if (entry.toolCall?.startsWith('read_')) this.#toolReads++
    if (outcome === 'repeated' || outcome === 'replayed') this.#repeats.add(outcome, operation)
    if (fault !== null) this.#faults.add(fault, operation)
    if (code !== null && outcome !== 'declined') this.#refusals.add(code, operation)
    const detail = JSON.parse(entry.detail) as RunDetail
    if ((kind === 'question' || kind === 'decision') && this.#questions.length < maxQuestions) {
      const { facts = [], remark = null } = detail
      this.#questions.push({ at: timestamp(entry.atMs), operation, outcome, facts, remark })
    }
    for (const { entries } of detail.postings ?? []) {
      const sum = entries.reduce((total, { amountCents }) => total + amountCents, 0)
      this.#postings.count++
      this.#postings.sumCents += sum
      if (sum !== 0) this.#postings.unbalanced++
    }
  }

  figures() {
    return {
      entries: this.entries,
      calls: this.#calls,
      toolReads: this.#toolReads,
      questions: this.#questions,
      postings: this.#postings,
      repeats: this.#repeats.counts(),
      faults: this.#faults.counts(),
      refusals: this.#refusals.counts(),
    }
  }
}
