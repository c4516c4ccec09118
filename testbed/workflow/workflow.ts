import { parse } from 'yaml';
import { z } from 'zod';
import { identifyAction } from '../../src/core/doctor/workflow.ts';
import type { Happening } from './event.ts';

const text = z
  .union([z.string(), z.number(), z.boolean(), z.null()])
  .transform((value) => (value === null ? '' : String(value)));
const texts = z
  .record(z.string(), text)
  .nullish()
  .transform((values) => values ?? {});
const names = z.union([z.string().transform((name) => [name]), z.array(z.string())]);
const permissions = z.union([
  z.enum(['read-all', 'write-all']),
  z.record(z.string(), z.enum(['read', 'write', 'none'])),
]);

/** Keys that the testbed ignores: they concern the runner itself, or several runs at once. */
const ignored = { name: text, concurrency: z.unknown(), 'timeout-minutes': text, 'runs-on': z.unknown() };

const step = z
  .strictObject({
    ...ignored,
    id: z.string(),
    if: text,
    uses: z.string(),
    with: texts,
    run: z.string(),
    shell: z.string(),
    env: texts,
    'working-directory': z.string(),
    'continue-on-error': z.boolean(),
  })
  .partial();

const job = z
  .strictObject({
    ...ignored,
    if: text,
    env: texts,
    permissions,
    services: z.record(z.string(), z.unknown()),
    needs: names,
    outputs: texts,
    uses: z.string(),
    with: texts,
    secrets: texts,
    strategy: z
      .strictObject({
        'fail-fast': z.literal(false),
        'max-parallel': z.string(),
        matrix: z.record(z.string(), z.string()),
      })
      .partial({ 'max-parallel': true }),
  })
  .partial()
  .extend({ steps: z.array(step).default([]) })
  .refine(({ uses, steps }) => (uses === undefined) === steps.length > 0, {
    message: 'A job has steps, or it uses a workflow',
  })
  .refine(({ uses, strategy }) => strategy === undefined || uses !== undefined, {
    path: ['strategy'],
    message: 'The sandbox plays a matrix only for a job that uses a workflow',
  });

const composite = z.looseObject({ runs: z.looseObject({ using: z.literal('composite'), steps: z.array(step) }) });

/** The filters of one event; an absent filter lets everything through. */
const filters = z
  .strictObject({
    types: names,
    branches: names,
    /** The names of the workflows, for `workflow_run`. */
    workflows: names,
    inputs: z.record(
      z.string(),
      z.looseObject({ type: z.string().optional(), default: text.optional(), options: z.array(text).optional() }),
    ),
  })
  .partial();

const calledSchema = z.looseObject({
  inputs: z.record(z.string(), z.looseObject({ default: text.default('') })).default({}),
  outputs: z
    .record(
      z.string(),
      z.strictObject({ value: text }).transform(({ value }) => value),
    )
    .default({}),
});

const on = z
  .union([
    names.transform((events): Record<string, unknown> => Object.fromEntries(events.map((event) => [event, null]))),
    z.record(z.string(), z.unknown()),
  ])
  .transform(({ schedule, workflow_call: called, ...events }) => ({
    /** The inputs with their defaults and the outputs, by name; null if other workflows cannot call this one. */
    called: called === undefined ? null : calledSchema.parse(called),
    schedule: z.array(z.strictObject({ cron: z.string() })).parse(schedule ?? []),
    events: z
      .record(
        z.string(),
        filters.nullable().transform((given) => given ?? {}),
      )
      .parse(events),
  }));

const workflow = z
  .strictObject({ ...ignored, 'run-name': z.string(), permissions, env: texts })
  .partial()
  .extend({ on, jobs: z.record(z.string(), job) })
  .refine(({ on: { called }, jobs }) => called !== null || Object.keys(jobs).length === 1, {
    path: ['jobs'],
    message: 'The sandbox plays workflows with one job',
  });

/** A workflow file in the form that the testbed can play. */
export type Workflow = z.output<typeof workflow>;
export type Job = z.output<typeof job>;
export type WorkflowStep = z.output<typeof step>;
export type Permissions = z.output<typeof permissions>;
type Filters = z.output<typeof filters>;

/** Parses a workflow file; throws for anything that the testbed cannot play as GitHub does. */
export function parseWorkflow(source: string): Workflow {
  const parsed = workflow.safeParse(dataOf(source));
  if (parsed.success) return parsed.data;
  throw new Error(`The sandbox cannot play this workflow:\n${z.prettifyError(parsed.error)}`);
}

/** Returns the steps of a composite action from the text of its action.yml, or null if the action is not composite. */
export function parseCompositeSteps(source: string): readonly WorkflowStep[] | null {
  const parsed = composite.safeParse(dataOf(source));
  return parsed.success ? parsed.data.runs.steps : null;
}

function dataOf(source: string): unknown {
  try {
    return parse(source);
  } catch (error) {
    throw new Error(`The sandbox cannot read this workflow:\n${String(error)}`, { cause: error });
  }
}

/** True if a step uses the action, or a copy of it. */
export function usesAction({ uses, with: inputs }: WorkflowStep): boolean {
  return (
    uses === './' || uses === '$/.github/actions/job' || identifyAction(uses ?? '', Object.keys(inputs ?? {})) !== null
  );
}

/** The types of an event that start a workflow without `types`; for events that are not listed, all types do. */
const USUAL_TYPES: Readonly<Record<string, readonly string[]>> = {
  pull_request: ['opened', 'synchronize', 'reopened'],
  pull_request_target: ['opened', 'synchronize', 'reopened'],
};

/** Returns the reason why the event starts no run of the workflow, or null if it starts one. */
export function explainNotStarted({ on: { schedule, events } }: Workflow, event: Happening): string | null {
  if (event.name === 'schedule')
    return schedule.some(({ cron }) => cron === event.cron) ? null : `on: has no schedule "${event.cron ?? ''}"`;
  const wanted = Object.hasOwn(events, event.name) ? events[event.name] : undefined;
  if (wanted === undefined) return `on: does not name ${event.name}`;
  const types = wanted.types ?? USUAL_TYPES[event.name];
  if (types !== undefined && (event.type === null || !types.includes(event.type)))
    return `on: ${event.name} does not name the type ${event.type ?? '(none)'}`;
  if (wanted.branches !== undefined && !(event.branch !== null && isNamed(event.branch, wanted.branches)))
    return `on: ${event.name} does not name the branch ${event.branch ?? '(none)'}`;
  if (wanted.workflows !== undefined && !wanted.workflows.includes(event.workflow ?? ''))
    return `on: ${event.name} does not name the workflow ${event.workflow ?? '(none)'}`;
  return null;
}

/** Returns the inputs of a dispatch with the defaults of missing ones; throws for inputs that GitHub would refuse. */
export function buildDispatchInputs(
  { on: { events } }: Workflow,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const declared: NonNullable<Filters['inputs']> = events['workflow_dispatch']?.inputs ?? {};
  for (const [name, value] of Object.entries(given)) {
    const options = declared[name]?.options;
    if (declared[name] === undefined) throw new Error(`Unexpected inputs provided: ["${name}"]`);
    if (options !== undefined && !options.includes(text.parse(value)))
      throw new Error(`Provided value '${text.parse(value)}' for input '${name}' not in the list of allowed values`);
  }
  return Object.fromEntries(
    Object.entries(declared).map(([name, { type, default: usual = '' }]) => {
      const value = given[name] === undefined || given[name] === null ? usual : text.parse(given[name]);
      return [name, type === 'boolean' ? value === 'true' : type === 'number' ? Number(value) : value];
    }),
  );
}

/**
 * Returns true if a branch matches names with `*` (no slash) and `**` (anything); the last matching pattern decides,
 * and one with `!` excludes.
 */
function isNamed(branch: string, patterns: readonly string[]): boolean {
  const matches = (pattern: string): boolean =>
    new RegExp(
      `^${pattern
        .replace(/[.+^${}()|[\]\\?]/g, '\\$&')
        .replace(/\*\*?/g, (stars) => (stars === '**' ? '.*' : '[^/]*'))}$`,
    ).test(branch);
  return patterns.reduce(
    (named, pattern) => (pattern.startsWith('!') ? named && !matches(pattern.slice(1)) : named || matches(pattern)),
    false,
  );
}
