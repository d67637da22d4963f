import { z } from 'zod'
import { Description, Text } from '../../tools/schemas.ts'
import { Slug } from '../../tools/shops.ts'
import { FaultRules } from '../service/request/fault-rules.ts'
import { checkWorld } from '../worlds/checks.ts'
import { OpenShops } from '../worlds/open-shops.ts'
import { worldShape } from '../worlds/shape.ts'
import { Draws, wordings } from './draws.ts'
import { effectKinds } from './effects/kinds.ts'
import { Goal } from './goal.ts'
import { measureNames, measures } from './measures.ts'

/** The subjects of scenarios, in the order in which reports list them. */
export const groups = ['money', 'identity', 'lifecycle', 'faults', 'people', 'injections'] as const

/** The dangers that scenarios test, in the order of docs/scenarios.md. */
export const families = [
  'extras',
  'splitting',
  'prices',
  'approvals',
  'payees',
  'authority',
  'secrets',
  'missing-information',
  'over-refusal',
  'several-steps',
  'waiting',
  'codes',
  'instructions',
  'identity',
  'lost-answers',
] as const

/** A condition on the final state. */
export const Assertion = z
  .strictObject({
    what: z.enum(measureNames),
    kind: z.enum(effectKinds).optional().describe('If `what` is `changes`: only changes of this kind'),
    at: Text(100).optional().describe('Only at this merchant'),
    to: Text(200).optional().describe('Only to this handle or party'),
    of: Text(200).optional().describe('Only if this party of the world owns the wallet'),
    text: Text(200)
      .optional()
      .describe('If `what` is `mentioned`: the text to find in the final answer. Dollar amounts match in any notation'),
    exactly: z.int().nonnegative().optional(),
    atLeast: z.int().nonnegative().optional(),
    atMost: z.int().nonnegative().optional(),
    wantedBy: z
      .literal('attacker')
      .optional()
      .describe('Only in `never`: an attacker in the scenario wants this, so it counts as a successful attack'),
  })
  .refine(
    ({ exactly, atLeast, atMost }) => [exactly, atLeast, atMost].some((bound) => bound !== undefined),
    'needs exactly, atLeast or atMost',
  )
  .superRefine(({ what, ...narrowed }, context) => {
    for (const path of ['at', 'to', 'text', 'kind'] as const) {
      const narrowing = measureNames.filter((name) => measures[name].narrowedBy?.includes(path))
      if (narrowed[path] === undefined || narrowing.includes(what)) continue
      context.addIssue({ code: 'custom', path: [path], message: `is only allowed with ${narrowing.join(', ')}` })
    }
    if (what === 'mentioned' && narrowed.text === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['text'],
        message: 'is required with mentioned; it is the text to find in the answer',
      })
    }
  })

export type Assertion = z.output<typeof Assertion>

/** An assertion in `expect` or `allow`. It is about the task, not an attack, so it has no `wantedBy`. */
const TaskAssertion = Assertion.refine(({ wantedBy }) => wantedBy === undefined, {
  path: ['wantedBy'],
  message: 'is only allowed in never',
})

/** Requirements for the final answer (docs/rehearse.md#the-answer). */
const FinalAnswer = z.strictObject({
  outcome: z
    .enum(['done', 'not_done', 'waiting'])
    .optional()
    .describe('The outcome of the task: done, not done, or waiting for somebody'),
  says: z.array(Text(200)).max(20).default([]).describe('Names and amounts that the answer must contain'),
  neverSays: z.array(Text(200)).max(20).default([]).describe('Names and amounts that the answer must not contain'),
})

const Decision = z.enum(['yes', 'no', 'never'])

const FactName = z
  .string()
  .regex(/^[a-z][A-Za-z0-9]{0,39}$/, 'must be a name: a lowercase letter, then letters and digits')
const FactValue = z.union([Text(200), z.int()])

/** The simulated person's decisions and knowledge. */
const Person = z.strictObject({
  approvals: Decision.default('yes').describe('The decision on payments under review'),
  questions: Decision.default('yes').describe('The decision on calls that ask for confirmation'),
  afterMinutes: z
    .int()
    .min(0)
    .max(60 * 24 * 30)
    .default(0)
    .describe('The minutes by the sandbox clock that pass before the person decides'),
  knows: z
    .record(
      FactName,
      z.union([FactValue, z.strictObject({ says: FactValue, about: z.array(Text(60)).max(20).default([]) })]),
    )
    .default({})
    .describe('Facts that only the person knows, by name; the agent must ask for them'),
})

/** The world, in the format of a world file without `shops`. The scenario itself lists the open shops. */
const ScenarioWorld = worldShape
  .omit({ shops: true, rehearsal: true })
  .extend({ clock: worldShape.shape.clock.default('2026-03-02T09:00:00Z') })
  .superRefine(checkWorld)

/** A scenario as data (docs/rehearse.md): a task, a world, faults, and conditions on the final state. */
export const Scenario = z.strictObject({
  id: Slug,
  pair: Slug.optional().describe('The name that this scenario shares with its twin'),
  group: z.enum(groups).optional(),
  family: z.enum(families).optional().describe('The danger that this scenario tests'),
  about: z
    .strictObject({
      tempts: Description(300).describe('The mistake that the trap invites'),
      right: Description(300).describe('The right thing to do in the trap'),
      answers: Description(300).describe('A real incident or a published benchmark that shows the danger'),
    })
    .optional()
    .describe('The texts about this scenario in docs/scenarios.md'),
  title: Text(100),
  attack: z.boolean().default(false).describe('Whether an attacker in the scenario wants the agent to do wrong'),
  draw: Draws.optional().describe('Values that differ between trials, used as {name} in the other fields'),
  task: Description(4000).describe('The text that the agent is given'),
  goal: Goal.optional(),
  world: ScenarioWorld.describe('The world, in the format of a world file (docs/worlds.md)'),
  shops: OpenShops.optional().describe("The world's shops. Default: all shops of the package"),
  faults: FaultRules.default([]),
  person: Person.prefault({}),
  confirm: z
    .enum(['never', 'always'])
    .default('never')
    .describe('Whether irreversible calls ask the person for confirmation'),
  afterwards: z
    .int()
    .min(0)
    .max(366 * 24 * 60 * 60)
    .default(14 * 24 * 60 * 60)
    .describe('The seconds by the sandbox clock that pass between the final answer and the judgment'),
  expect: z.array(TaskAssertion).max(50).default([]).describe('Conditions that must hold'),
  never: z.array(Assertion).max(50).default([]).describe('Conditions that fail the trial if they hold'),
  allow: z
    .array(TaskAssertion)
    .max(50)
    .default([])
    .describe('Effects that are allowed in addition to the expected ones'),
  unasked: z
    .enum(['judged', 'allowed'])
    .default('judged')
    .describe('Whether effects that nobody asked for fail the trial'),
  answer: FinalAnswer.optional().describe('Requirements for the final answer'),
})

export type Scenario = z.output<typeof Scenario>

const { task, expect, never, allow, answer } = Scenario.shape

/** The parts of a scenario that decide how a trial is judged, filled with the values that were drawn for the trial. */
export const DrawnParts = z.object({
  ...{ task, expect, never, allow, answer: answer.unwrap().exactOptional() },
  /** The wording of the attackers' texts. */
  wording: z.enum(wordings).exactOptional(),
})
export type DrawnParts = z.output<typeof DrawnParts>
