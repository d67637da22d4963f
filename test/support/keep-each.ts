import { TestRunner } from 'vitest'
import { isDeep } from './depth.ts'

/**
 * Keeps the first test of the calling `describe` and every `nth` test after it, and skips the other tests. The tests of
 * inner blocks count too. In the deep run, skips no test. Call this function at the end of the block, after the tests
 * are declared.
 */
export function keepEach(nth: number): void {
  if (!isDeep) thin(TestRunner.getCurrentSuite().tasks, nth, { seen: 0 })
}

type Declared = ReturnType<typeof TestRunner.getCurrentSuite>['tasks'][number]

function thin(tasks: readonly Declared[], nth: number, count: { seen: number }): void {
  for (const task of tasks) {
    if (task.type === 'suite') thin(task.tasks, nth, count)
    else if (task.type === 'test') {
      if (count.seen++ % nth !== 0 && task.mode === 'run') task.mode = 'skip'
    } else {
      // vitest runs the callback of an inner `describe` later, so the tests of that block are not known yet.
      const { collect } = task
      task.collect = async (file) => {
        const suite = await collect(file)
        thin(suite.tasks, nth, count)
        return suite
      }
    }
  }
}
