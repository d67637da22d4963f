import { TestRunner } from 'vitest'
import { isDeep } from './depth.ts'

/**
 * Skips all tests of the calling `describe` except the first and every `nth` after it, counting tests of inner blocks
 * too. Skips none in the deep run. Call it at the end of the block, after the tests are declared.
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
      // vitest runs the callback of an inner `describe` later, and only then knows its tests.
      const { collect } = task
      task.collect = async (file) => {
        const suite = await collect(file)
        thin(suite.tasks, nth, count)
        return suite
      }
    }
  }
}
