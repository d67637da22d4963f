import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isDeep } from './test/support/depth.ts'

/** Tests with the hosts that `npm run test:hosts` installs. */
const needHosts = ['test/hosts/**']

/** Tests of the deep run only: they install the package, kill processes, or try every client at every entry point. */
const deepOnly = [
  'test/activity/many-parties.test.ts',
  'test/adversary/{half-sent,memory}.test.ts',
  'test/commands/ending.test.ts',
  'test/commands/killed-processes.test.ts',
  'test/conformance/**',
  'test/interoperability/**',
  'test/ledger/crash.test.ts',
  'test/mcp-http/cross-talk.test.ts',
  'test/oauth/differential.test.ts',
  'test/oauth/hosts.test.ts',
  'test/packaging/{bundle,deployment,examples,package,rehearse-workflow}.test.ts',
  'test/{pages,mcp-apps}/appearance.test.ts',
  'test/random-calls/**',
  'test/rehearse/memory.test.ts',
  'test/rehearse/answer/truths.test.ts',
  'test/resilience/**',
  'test/secrets/reports.test.ts',
  'test/simulate/command.test.ts',
  'test/webhooks/all-arrive.test.ts',
  // Other tests cover these pages without a browser. In the quick run, a browser opens the console, decides, and runs the
  // pages' script.
  'test/approvals/browser.test.ts',
  'test/console/*browser.test.ts',
  'test/decisions/browser.test.ts',
  'test/mcp-apps/{agent-card,approval,card-purchase}.test.ts',
  'test/pages/{axe,checkout,connect,home-browser,hostile-shops-browser,library,links-browser,oauth-browser,register-browser,shops-browser}.test.ts',
  'test/rehearse/report-browser.test.ts',
  // Other tests call these commands within one process. The quick run starts `serve`, stdio, `setup` and `rehearse`.
  'test/auth/commands.test.ts',
  'test/bridge/floods.test.ts',
  'test/client/exactly-once.test.ts',
  'test/commands/{bridge,doctor,keys,report,several-processes,world}.test.ts',
  'test/mcp/stdio-person.test.ts',
  'test/rehearse/{command-line,command-trial}.test.ts',
  'test/simulate/report.test.ts',
]

const skipped = [...needHosts, ...(isDeep ? [] : deepOnly)]

/** Tests of rules, schemas, documents and other pure code, which need no database, no server and no bundle. */
const unit = [
  'test/*.test.ts',
  'test/auth/{signed-in,token-store}.test.ts',
  'test/client/{errors,follow-events,pages,request,retry}.test.ts',
  'test/config/**',
  'test/console/report-rules.test.ts',
  'test/core/!(errors).test.ts',
  'test/credentials/last-use.test.ts',
  'test/events/types.test.ts',
  'test/faults/rules.test.ts',
  'test/mcp/{repeated-operations,tools}.test.ts',
  'test/mcp-apps/apps.test.ts',
  'test/pages/{assets,device-pages,foreign-text,qr-code}.test.ts',
  'test/rehearse/{judge,mask,report,statistics,table,unasked}.test.ts',
  'test/rehearse/answer/!(truths).test.ts',
  'test/rehearse/{comparison,opentelemetry,summary}.test.ts',
  'test/shops/machine.test.ts',
  'test/simulate/model.test.ts',
  'test/store/tables.test.ts',
  'test/surface/{derived,descriptions,openapi,surface}.test.ts',
  'test/worlds/{parse,schema}.test.ts',
]

/** Tests that take minutes. They start first, because otherwise they would run alone in the end. */
const longest = [
  'test/webhooks/all-arrive.test.ts',
  'test/client/exactly-once.test.ts',
  'test/resilience/failover.test.ts',
  'test/isolation/isolation.test.ts',
  'test/secrets/secrets.test.ts',
  'test/adversary/operations.test.ts',
  'test/simulate/command.test.ts',
  'test/simulate/simulate.test.ts',
  'test/adversary/tools.test.ts',
  'test/commands/report.test.ts',
  'test/packaging/examples.test.ts',
  'test/ledger/crash.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((file) => moduleId.endsWith(file))
      return at === -1 ? longest.length : at
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    // Much longer than any test takes, even on a busy machine, but a hanging test still fails.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // Each worker loads the modules itself, so a fourth one pays only in the deep run, where many tests wait for browsers,
    // processes and PostgreSQL.
    maxWorkers: isDeep ? 4 : 3,
    // The product's modules have no state of their own, so test files may share the loaded modules.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'unit', include: unit, exclude: skipped } },
      {
        extends: true,
        test: {
          name: 'doors',
          include: ['test/**/*.test.ts'],
          exclude: [...skipped, ...unit],
          globalSetup: ['test/support/on-demand.ts'],
        },
      },
    ],
  },
})
