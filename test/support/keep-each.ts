import { TestRunner } from 'vitest'
import { isDeep } from './depth.ts'

/**
 * Outside the deep run, keeps only the first test of the calling `describe` and each `nth` after it, including tests of
 * inner blocks, and skips the rest. Call it last, after the tests are declared.
 */
export function keepEach(nth: number): void {
  if (!isDeep) thin(TestRunner.getCurrentSuite().tasks, nth, { met: 0 })
}

type Declared = ReturnType<typeof TestRunner.getCurrentSuite>['tasks'][number]

function thin(tasks: readonly Declared[], nth: number, count: { met: number }): void {
  for (const task of tasks) {
    if (task.type === 'suite') thin(task.tasks, nth, count)
    else if (task.type === 'test') {
      if (count.met++ % nth !== 0 && task.mode === 'run') task.mode = 'skip'
    } else {
      // vitest knows the tests of an inner describe only after running it.
      const { collect } = task
      task.collect = async (file) => {
        const suite = await collect(file)
        thin(suite.tasks, nth, count)
        return suite
      }
    }
  }
}
