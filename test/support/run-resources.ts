import { inject } from 'vitest'
import type { RunResources } from './on-demand.ts'

/** Returns a resource that all tests of the run share. The first request for a resource prepares it. */
export function runResource<Name extends keyof RunResources>(name: Name): Promise<RunResources[Name]> {
  const resource = resources.get(name) ?? requestResource(name)
  resources.set(name, resource)
  return resource as Promise<RunResources[Name]>
}

const resources = new Map<keyof RunResources, Promise<unknown>>()

async function requestResource(name: keyof RunResources): Promise<unknown> {
  const answer = await fetch(`${inject('onDemand')}/${name}`)
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}
