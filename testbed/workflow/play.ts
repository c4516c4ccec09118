import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ACTION_FOLDER, REPOSITORY, TOKEN, type Testbed } from '../testbed.ts';
import { readEvent } from './event.ts';
import { holds, interpolate, type Contexts, type JobStatus } from './expressions.ts';
import { evaluated, playSteps, variablesOf, type PlayedJob } from './job.ts';
import type { Performance } from './performance.ts';
import { within, withPermissions } from './permissions.ts';
import { dispatchInputs, parseWorkflow, whyNot, type Job, type Permissions, type Workflow } from './workflow.ts';

/** The result of an event. */
export type Played =
  | { readonly kind: 'not-triggered'; readonly why: string }
  /** The job's `if` did not hold. */
  | { readonly kind: 'skipped'; readonly runName: string }
  | (PlayedJob['end'] & { readonly runName: string })
  /** The job called a workflow of several jobs; jobs whose `if` did not hold are skipped. */
  | {
      readonly kind: 'called';
      readonly runName: string;
      readonly jobs: Readonly<Record<string, PlayedJob | 'skipped'>>;
    };

/** The reusable workflow of this repository, with any owner, name and version. */
const OUR_WORKFLOW = /^(?:[^/]+\/[^/]+|\.)\/\.github\/workflows\/ralph\.yml(?:@|$)/;

/** Plays a workflow as GitHub and its runner would: its triggers, conditions, names, inputs and permissions. */
export async function playWorkflow(testbed: Testbed, performance: Performance): Promise<Played> {
  const { event, secrets, vars = {} } = performance;
  const workflow = parseWorkflow(performance.workflow);
  const happening = readEvent(event);
  const why = whyNot(workflow, happening);
  if (why !== null) return { kind: 'not-triggered', why };
  const source = await happening.source(testbed);
  if (source === null) return { kind: 'not-triggered', why: 'the pull request has conflicts' };

  const { name, isFork } = happening;
  const [jobName, job] = onlyJob(workflow);
  const github = {
    event_name: name,
    workflow: workflow.name ?? '',
    job: jobName,
    ...source,
    ref_name: source.ref.replace(/^refs\/(heads|tags|pull)\//, ''),
    head_ref: happening.headRef,
    base_ref: happening.baseRef,
    actor: happening.actor,
    repository: `${REPOSITORY.owner}/${REPOSITORY.name}`,
    repository_owner: REPOSITORY.owner,
    token: TOKEN,
  };
  const inputs = name === 'workflow_dispatch' ? dispatchInputs(workflow, happening.given) : {};
  const contexts = { github: { ...github, event: event.payload }, inputs, vars };
  const runName = interpolate(workflow['run-name'] ?? workflow.name ?? '', contexts);
  if (!holds(job.if ?? '', contexts, { status: 'success' })) return { kind: 'skipped', runName };

  const stage: Stage = {
    testbed,
    performance,
    isFork,
    env: { ...variablesOf(github), ...(happening.mayWriteToCache ? {} : { ACTIONS_CACHE_MODE: 'read' }) },
    github,
    secrets: isFork ? {} : secrets,
  };
  const asked = job.permissions ?? workflow.permissions;
  if (job.uses !== undefined)
    return { kind: 'called', runName, jobs: await playCalled(stage, job, { contexts, asked }) };
  const played = await playJob(stage, job, { contexts, asked, env: workflow.env ?? {} });
  return { ...played.end, runName };
}

/**
 * Returns the job that shows how a run of several jobs ended, which is the last one that ran; returns any other result
 * unchanged.
 */
export function endOfRun(played: Played): Exclude<Played, { kind: 'called' }> {
  if (played.kind !== 'called') return played;
  const { runName } = played;
  const last = Object.values(played.jobs).findLast((job) => job !== 'skipped');
  if (last === undefined) return { kind: 'skipped', runName };
  const steps = Object.values(played.jobs).flatMap((job) => (job === 'skipped' ? [] : job.end.steps));
  return { ...last.end, steps, runName };
}

/** The data that all jobs of a run share. */
interface Stage {
  readonly testbed: Testbed;
  readonly performance: Performance;
  readonly isFork: boolean;
  readonly github: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** The variables that the runner sets for each step. */
  readonly env: Readonly<Record<string, string>>;
}

async function playJob(
  { testbed, performance, isFork, github, secrets, env: ofRun }: Stage,
  job: Job,
  given: {
    readonly contexts: Contexts;
    readonly asked: Permissions | undefined;
    readonly env: Readonly<Record<string, string>>;
    readonly artifacts?: string;
  },
): Promise<PlayedJob> {
  const { contexts, asked, artifacts = join(testbed.folder, 'artifacts') } = given;
  const { event, onOutput } = performance;
  const on = await testbed.machine({ event, ...(onOutput === undefined ? {} : { onOutput }) });
  const env = { ...ofRun, ...evaluated({ ...given.env, ...job.env }, { ...contexts, secrets }) };
  const { steps, services = {} } = job;
  const scene = { on, performance, steps, services, github, open: contexts, secrets, env, artifacts };
  return withPermissions(testbed, { asked, isFork }, async () => {
    const played = await playSteps(scene);
    on.end();
    return played;
  });
}

function rightsIn({ permissions = {} }: Job): string {
  return typeof permissions === 'string'
    ? permissions
    : Object.entries(permissions)
        .map(([area, right]) => `${area}: ${right}`)
        .join(', ');
}

let calls = 0;

/** Plays our reusable workflow as the job calls it: each job on its own machine, with the rights that it requests. */
async function playCalled(
  stage: Stage,
  { uses = '', with: given = {}, secrets: passed = {} }: Job,
  { contexts, asked }: { readonly contexts: Contexts; readonly asked: Permissions | undefined },
): Promise<Readonly<Record<string, PlayedJob | 'skipped'>>> {
  if (!OUR_WORKFLOW.test(uses)) throw new Error(`The sandbox does not know the workflow ${uses}.`);
  const called = parseWorkflow(await readFile(join(ACTION_FOLDER, '.github', 'workflows', 'ralph.yml'), 'utf8'));
  const declared = called.on.called ?? {};
  const values = evaluated(given, contexts);
  const unknown = Object.keys(values).filter((name) => declared[name] === undefined);
  if (unknown.length > 0) throw new Error(`Invalid input, ${unknown.join(', ')} is not defined in ${uses}.`);
  const inputs = Object.fromEntries(
    Object.entries(declared).map(([name, { default: usual }]) => [name, values[name] ?? usual]),
  );
  const secrets = evaluated(passed, { ...contexts, secrets: stage.secrets });
  // The jobs belong to one run, and share its artifacts and its lease.
  const runId = String(9000 + (calls += 1));
  const artifacts = join(stage.testbed.folder, `artifacts-${runId}`);
  const { standIn } = stage.performance;
  // Each job uses the token that the workflow gives it, or none.
  const agentAlone = Object.fromEntries(Object.entries(standIn.inputs).filter(([name]) => name !== 'github-token'));
  const needs: Record<string, unknown> = {};
  const played: Record<string, PlayedJob | 'skipped'> = {};
  for (const [name, job] of Object.entries(called.jobs)) {
    const github = { ...stage.github, job: name };
    const open = { ...contexts, inputs, needs, github: { ...(contexts['github'] as object), job: name } };
    const before: JobStatus = (job.needs ?? []).every(
      (one) => played[one] !== 'skipped' && played[one]?.status === 'success',
    )
      ? 'success'
      : 'failure';
    if (!holds(job.if ?? '', open, { status: before })) {
      played[name] = 'skipped';
      needs[name] = { result: 'skipped', outputs: {} };
      continue;
    }
    stage.performance.onOutput?.(`job ${name} (${rightsIn(job)})\n`);
    const own: Stage = {
      ...stage,
      github,
      secrets,
      env: { ...stage.env, ...variablesOf(github), GITHUB_RUN_ID: runId },
      performance: { ...stage.performance, standIn: { ...standIn, inputs: agentAlone } },
    };
    const done = await playJob(own, job, {
      contexts: open,
      asked: within(job.permissions ?? called.permissions, asked),
      env: called.env ?? {},
      artifacts,
    });
    played[name] = done;
    const outputs = evaluated(job.outputs ?? {}, { ...open, steps: done.stepOutputs });
    needs[name] = { result: done.status, outputs };
  }
  return played;
}

function onlyJob({ jobs }: Workflow): [string, Workflow['jobs'][string]] {
  const [only] = Object.entries(jobs);
  if (only === undefined) throw new Error('A workflow has a job.');
  return only;
}
