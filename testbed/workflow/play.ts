import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ACTION_FOLDER, REPOSITORY, TOKEN, type Testbed } from '../testbed.ts';
import { readEvent } from './event.ts';
import { isConditionTrue, interpolate, type Contexts, type JobStatus } from './expressions.ts';
import { evaluateTexts, playSteps, variablesOf, type PlayedJob } from './job.ts';
import type { Performance } from './performance.ts';
import { buildLoginVariables, limitPermissions, withPermissions } from './permissions.ts';
import {
  buildDispatchInputs,
  parseWorkflow,
  explainNotStarted,
  type Job,
  type Permissions,
  type Workflow,
} from './workflow.ts';

/** The result of an event. */
export type Played =
  | { readonly kind: 'not-triggered'; readonly why: string }
  /** The job's `if` did not hold. */
  | { readonly kind: 'skipped'; readonly runName: string }
  | (PlayedJob['end'] & { readonly runName: string })
  /** The job called a workflow of several jobs. */
  | (PlayedJobs & { readonly kind: 'called'; readonly runName: string });

/**
 * The jobs of a called workflow, by the names that GitHub shows: `gate`, `branch (queue) / loop`. Jobs whose `if` did
 * not hold are skipped. `outputs` are those of the workflow.
 */
interface PlayedJobs {
  readonly jobs: Readonly<Record<string, PlayedJob | 'skipped'>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/** The reusable workflows of this repository, with any owner, name and version. */
const OUR_WORKFLOW = /^(?:[^/]+\/[^/]+|\.)\/(?<file>\.github\/workflows\/ralph(?:-keyless)?\.yml)(?:@|$)/;

/** Plays a workflow as GitHub and its runner would: its triggers, conditions, names, inputs and permissions. */
export async function playWorkflow(testbed: Testbed, performance: Performance): Promise<Played> {
  const { event, secrets, vars = {} } = performance;
  const workflow = parseWorkflow(performance.workflow);
  const happening = readEvent(event);
  const why = explainNotStarted(workflow, happening);
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
  const inputs = name === 'workflow_dispatch' ? buildDispatchInputs(workflow, happening.given) : {};
  const contexts = { github: { ...github, event: event.payload }, inputs, vars };
  const runName = interpolate(workflow['run-name'] ?? workflow.name ?? '', contexts);
  if (!isConditionTrue(job.if ?? '', contexts, { status: 'success' })) return { kind: 'skipped', runName };

  const stage: Stage = {
    testbed,
    performance,
    isFork,
    env: { ...variablesOf(github), ...(happening.mayWriteToCache ? {} : { ACTIONS_CACHE_MODE: 'read' }) },
    github,
    secrets: isFork ? {} : secrets,
    artifacts: join(testbed.folder, 'artifacts'),
  };
  const asked = job.permissions ?? workflow.permissions;
  if (job.uses !== undefined)
    return { kind: 'called', runName, ...(await playReusable(stage, job, { contexts, asked })) };
  const played = await playJob(stage, job, { contexts, asked, env: workflow.env ?? {} });
  return { ...played.end, runName };
}

/**
 * Returns the job that shows how a run of several jobs ended, which is the last one that ran; returns any other result
 * unchanged.
 */
export function findRunEnd(played: Played): Exclude<Played, { kind: 'called' }> {
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
  /** The folder of the run's artifacts. */
  readonly artifacts: string;
}

async function playJob(
  { testbed, performance, isFork, github, secrets, env: ofRun, artifacts }: Stage,
  job: Job,
  given: {
    readonly contexts: Contexts;
    readonly asked: Permissions | undefined;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<PlayedJob> {
  const { contexts, asked } = given;
  const { event, onOutput } = performance;
  const on = await testbed.machine({ event, ...(onOutput === undefined ? {} : { onOutput }) });
  const env = {
    ...ofRun,
    ...buildLoginVariables(asked),
    ...evaluateTexts({ ...given.env, ...job.env }, { ...contexts, secrets }),
  };
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

/** The contexts of a job that calls a workflow, and the rights that the workflow's jobs may have at most. */
interface Calling {
  readonly contexts: Contexts;
  readonly asked: Permissions | undefined;
}

/** Plays our reusable workflow as the job calls it: each job on its own machine, with the rights that it requests. */
async function playReusable(stage: Stage, job: Job, calling: Calling): Promise<PlayedJobs> {
  const { uses = '' } = job;
  const file = OUR_WORKFLOW.exec(uses)?.groups?.['file'];
  if (file === undefined) throw new Error(`The sandbox does not know the workflow ${uses}.`);
  // The jobs belong to one run, and share its artifacts and its lease.
  const runId = String(9000 + (calls += 1));
  const { standIn } = stage.performance;
  // Each job uses the token that the workflow gives it, or none.
  const agentAlone = Object.fromEntries(Object.entries(standIn.inputs).filter(([name]) => name !== 'github-token'));
  const ofRun: Stage = {
    ...stage,
    artifacts: join(stage.testbed.folder, `artifacts-${runId}`),
    env: { ...stage.env, GITHUB_RUN_ID: runId },
    performance: { ...stage.performance, standIn: { ...standIn, inputs: agentAlone } },
  };
  return playCalled(ofRun, job, { ...calling, file, name: '' });
}

/** Plays a workflow of this repository; `name` is what GitHub shows before the names of its jobs. */
async function playCalled(
  stage: Stage,
  { uses = '', with: given = {}, secrets: passed = {} }: Job,
  { contexts, asked, file, name: caller }: Calling & { readonly file: string; readonly name: string },
): Promise<PlayedJobs> {
  const called = parseWorkflow(await readFile(join(ACTION_FOLDER, file), 'utf8'));
  const declared = called.on.called?.inputs ?? {};
  const values = evaluateTexts(given, contexts);
  const unknown = Object.keys(values).filter((name) => declared[name] === undefined);
  if (unknown.length > 0) throw new Error(`Invalid input, ${unknown.join(', ')} is not defined in ${uses}.`);
  const inputs = Object.fromEntries(
    Object.entries(declared).map(([name, { default: usual }]) => [name, values[name] ?? usual]),
  );
  const secrets = evaluateTexts(passed, { ...contexts, secrets: stage.secrets });
  const needs: Record<string, { readonly result: JobStatus | 'skipped'; readonly outputs: object }> = {};
  const played: Record<string, PlayedJob | 'skipped'> = {};
  for (const [id, job] of Object.entries(called.jobs)) {
    const github = { ...stage.github, job: id };
    const open = { ...contexts, inputs, needs, github: { ...(contexts['github'] as object), job: id } };
    const before = (job.needs ?? []).every((one) => needs[one]?.result === 'success') ? 'success' : 'failure';
    if (!isConditionTrue(job.if ?? '', open, { status: before })) {
      played[caller + id] = 'skipped';
      needs[id] = { result: 'skipped', outputs: {} };
      continue;
    }
    const own: Stage = { ...stage, github, secrets, env: { ...stage.env, ...variablesOf(github) } };
    const granted = limitPermissions(job.permissions ?? called.permissions, asked);
    if (job.uses !== undefined) {
      const legs = await playLegs(own, job, { contexts: open, asked: granted, name: caller + id });
      Object.assign(played, legs.jobs);
      needs[id] = { result: statusOf(legs.jobs), outputs: legs.outputs };
      continue;
    }
    stage.performance.onOutput?.(`job ${caller}${id} (${rightsIn(job)})\n`);
    const done = await playJob(own, job, { contexts: open, asked: granted, env: called.env ?? {} });
    played[caller + id] = done;
    const outputs = evaluateTexts(job.outputs ?? {}, { ...open, steps: done.stepOutputs });
    needs[id] = { result: done.status, outputs };
  }
  return {
    jobs: played,
    outputs: evaluateTexts(called.on.called?.outputs ?? {}, { ...contexts, inputs, jobs: needs }),
  };
}

/**
 * Plays the workflow of a job for each leg of its matrix, one after another, which any `max-parallel` allows. An output
 * is that of the last leg that sets it.
 */
async function playLegs(
  stage: Stage,
  job: Job,
  { contexts, asked, name }: Calling & { readonly name: string },
): Promise<PlayedJobs> {
  const { uses = '', strategy } = job;
  if (!uses.startsWith('$/')) throw new Error(`The sandbox does not know the workflow ${uses}.`);
  const most = Number(interpolate(strategy?.['max-parallel'] ?? '1', contexts));
  if (!(most >= 1)) throw new Error(`max-parallel of ${name} is not a number of jobs.`);
  let all: PlayedJobs = { jobs: {}, outputs: {} };
  for (const matrix of legsOf(strategy?.matrix ?? {}, contexts)) {
    const values = Object.values(matrix).join(', ');
    const leg = await playCalled(stage, job, {
      contexts: { ...contexts, matrix },
      asked,
      file: uses.slice(2),
      name: `${name}${values === '' ? '' : ` (${values})`} / `,
    });
    const set = Object.fromEntries(Object.entries(leg.outputs).filter(([, value]) => value !== ''));
    all = { jobs: { ...all.jobs, ...leg.jobs }, outputs: { ...all.outputs, ...set } };
  }
  return all;
}

/** Returns the combinations of a matrix whose values are expressions of lists. */
function legsOf(
  matrix: Readonly<Record<string, string>>,
  contexts: Contexts,
): readonly Readonly<Record<string, string>>[] {
  return Object.entries(matrix).reduce<readonly Readonly<Record<string, string>>[]>(
    (legs, [name, list]) => {
      const [, expression = ''] = /^\$\{\{(.*)\}\}$/.exec(list) ?? [];
      const values = JSON.parse(interpolate(`\${{ toJSON(${expression}) }}`, contexts)) as readonly string[];
      if (values.length === 0) throw new Error(`Matrix vector '${name}' does not contain any values`);
      return legs.flatMap((leg) => values.map((value) => ({ ...leg, [name]: value })));
    },
    [{}],
  );
}

function statusOf(jobs: PlayedJobs['jobs']): JobStatus {
  return Object.values(jobs).some((job) => job !== 'skipped' && job.status === 'failure') ? 'failure' : 'success';
}

function onlyJob({ jobs }: Workflow): [string, Workflow['jobs'][string]] {
  const [only] = Object.entries(jobs);
  if (only === undefined) throw new Error('A workflow has a job.');
  return only;
}
