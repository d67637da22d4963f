import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Agent } from 'undici'

/** A thread that asks a server for its health without a pause: the thread that loads the server would be late for it. */
const agent = new Agent({ connections: 1, pipelining: 1 })
const health = { slowestMs: 0, answers: 0, refusals: 0 }
let probing = true

parentPort?.once('message', async () => {
  await ask()
  parentPort?.postMessage(health)
  Object.assign(health, { slowestMs: 0, answers: 0, refusals: 0 })
  const done = probe()
  parentPort?.once('message', async () => {
    probing = false
    await done
    parentPort?.postMessage(health)
  })
})

async function probe(): Promise<void> {
  while (probing) {
    await ask()
    await sleep(5)
  }
  await agent.close()
}

async function ask(): Promise<void> {
  const askedAt = performance.now()
  const { statusCode, body } = await agent.request({ origin: workerData, path: '/healthz', method: 'GET' })
  await body.dump()
  health.slowestMs = Math.max(health.slowestMs, performance.now() - askedAt)
  health.answers += 1
  if (statusCode !== 200) health.refusals += 1
}
