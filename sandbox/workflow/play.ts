import type { JobResult, RunningAction, RunningMain, StepResult } from '../runner.ts';
import { REPOSITORY, TOKEN, type Checkout, type Sandbox, type SandboxMachine } from '../sandbox.ts';
import { readEvent } from './event.ts';
import { holds, interpolate, type Contexts, type JobStatus } from './expressions.ts';
import { withPermissions } from './permissions.ts';
import { dispatchInputs, parseWorkflow, usesAction, whyNot, type Step, type Workflow } from './workflow.ts';

/** An event that happens in the repository of a sandbox, and the workflow file that stands there. */
export interface Performance {
  /** Text of the workflow file. */
  readonly workflow: string;
  readonly event: { readonly name: string; readonly payload: unknown };
  readonly secrets: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
  /** Inputs and environment of the action's step beside those of the workflow: what puts a stand-in in the place of the agent. */
  readonly standIn: {
    readonly inputs: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  };
  /** Whether scripts of the workflow run, as they do unless `leave` says that they are not played. */
  readonly commands?: 'run' | 'leave';
  readonly onOutput?: (text: string) => void;
  readonly onStart?: (main: RunningMain) => void;
}

/** What came of an event. */
export type Played =
  | { readonly kind: 'not-triggered'; readonly why: string }
  /** The job's `if` does not hold. */
  | { readonly kind: 'skipped'; readonly runName: string }
  /** A step before the action's failed, or its `if` did not hold. */
  | { readonly kind: 'without-action'; readonly runName: string; readonly steps: readonly PlayedStep[] }
  | {
      readonly kind: 'ran';
      readonly runName: string;
      readonly steps: readonly PlayedStep[];
      /** `with:` of the action's step, evaluated. */
      readonly inputs: Readonly<Record<string, string>>;
      readonly result: JobResult;
      readonly workspace: string;
      readonly machine: string;
    };

/** Of each variant, all but the name of the run. */
type WithoutRunName<T> = T extends unknown ? Omit<T, 'runName'> : never;

interface PlayedStep {
  readonly name: string;
  /** `not-played`: nothing of it could run here. */
  readonly end: 'success' | 'failure' | 'skipped' | 'not-played';
  readonly log: string;
}

/** What a shell ends with when a program is not there. */
const PROGRAM_NOT_FOUND = 127;

/** Plays a workflow as GitHub and its runner would: its triggers, conditions, names, inputs and permissions. */
export async function playWorkflow(sandbox: Sandbox, performance: Performance): Promise<Played> {
  const { event, secrets, vars = {} } = performance;
  const workflow = parseWorkflow(performance.workflow);
  const happening = readEvent(event);
  const why = whyNot(workflow, happening);
  if (why !== null) return { kind: 'not-triggered', why };
  const source = await happening.source(sandbox);
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
  if (!holds(job.if ?? '', contexts, 'success')) return { kind: 'skipped', runName };

  const { onOutput } = performance;
  const on = await sandbox.machine({ event, ...(onOutput === undefined ? {} : { onOutput }) });
  const known = { ...contexts, secrets: isFork ? {} : secrets };
  const env = {
    ...variablesOf(github),
    ...(happening.mayWriteToCache ? {} : { ACTIONS_CACHE_MODE: 'read' }),
    ...evaluated({ ...workflow.env, ...job.env }, known),
  };
  const asked = job.permissions ?? workflow.permissions;
  const { steps, services = {} } = job;
  const scene = { on, performance, steps, services, github, open: contexts, secrets: known.secrets, env };
  return withPermissions(sandbox, { asked, isFork }, async () => {
    const played = await playSteps(scene);
    on.end();
    return { ...played, runName };
  });
}

function onlyJob({ jobs }: Workflow): [string, Workflow['jobs'][string]] {
  const [only] = Object.entries(jobs);
  if (only === undefined) throw new Error('A workflow has a job.');
  return only;
}

interface Scene {
  readonly on: SandboxMachine;
  readonly performance: Performance;
  readonly steps: readonly Step[];
  /** Containers, which are not started here. */
  readonly services: Readonly<Record<string, unknown>>;
  readonly github: Readonly<Record<string, string>>;
  /** What a condition may name as well. */
  readonly open: Contexts;
  readonly secrets: Readonly<Record<string, string>>;
  /** What every step gets, `env:` of workflow and job among it. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a step did. */
interface Act extends Omit<PlayedStep, 'name'> {
  readonly outputs: Readonly<Record<string, string>>;
  /** The action, which has a post step to come; null: the step did not use it. */
  readonly action: { readonly running: RunningAction; readonly inputs: Readonly<Record<string, string>> } | null;
}

async function playSteps(scene: Scene): Promise<WithoutRunName<Extract<Played, { kind: 'ran' | 'without-action' }>>> {
  const { on, performance } = scene;
  const played: PlayedStep[] = Object.keys(scene.services).map((name) => ({ name, end: 'not-played', log: '' }));
  const steps: Record<string, unknown> = {};
  let status: JobStatus = 'success';
  let action: Act['action'] = null;
  for (const step of scene.steps) {
    const name = step.name ?? step.uses ?? step.run ?? '';
    const runner = { os: 'Linux', temp: on.environment['RUNNER_TEMP'] };
    const known = { ...scene.open, steps, runner, env: { ...on.environment, ...scene.env } };
    const env = { ...scene.env, ...evaluated(step.env ?? {}, { ...known, secrets: scene.secrets }) };
    const open = { ...known, env: { ...known.env, ...env } };
    const act = holds(step.if ?? '', open, status)
      ? await perform(scene, step, { contexts: { ...open, secrets: scene.secrets }, env })
      : skipped;
    if (act.end === 'not-played') performance.onOutput?.(`Not played here: ${name}\n`);
    if (act.end === 'failure') status = 'failure';
    if (act.action !== null && action !== null) throw new Error('The sandbox plays the action once in a job.');
    action ??= act.action;
    if (step.id !== undefined) steps[step.id] = { outputs: act.outputs, outcome: act.end };
    played.push({ name, end: act.end, log: act.log });
  }
  if (action === null) return { kind: 'without-action', steps: played };
  const { running, inputs } = action;
  const { workspace, machine } = on;
  return { kind: 'ran', steps: played, inputs, result: await running.post(), workspace, machine };
}

const skipped: Act = { end: 'skipped', log: '', outputs: {}, action: null };

/** Runs a step whose `if` holds. */
async function perform(
  { on, github, performance: { standIn, onStart, commands } }: Scene,
  step: Step,
  { contexts, env }: { readonly contexts: Contexts; readonly env: Readonly<Record<string, string>> },
): Promise<Act> {
  const kind = kindOf(step);
  switch (kind) {
    case 'checkout':
      await on.checkOut(wantedCheckout(evaluated(step.with ?? {}, contexts), github['ref'] ?? ''));
      return { ...skipped, end: 'success' };
    case 'action': {
      const inputs = evaluated(step.with ?? {}, contexts);
      const running = await on.runAction({
        ...on.action,
        inputs: { ...inputs, ...standIn.inputs },
        env: { ...env, ...standIn.env },
        ...(onStart === undefined ? {} : { onStart }),
      });
      return { ...endOf(running.main), outputs: running.outputs, action: { running, inputs } };
    }
    case 'script': {
      if (commands === 'leave') return { ...skipped, end: 'not-played' };
      const done = await on.runScript({
        script: interpolate(step.run ?? '', contexts),
        options: step.shell === 'bash' ? ['--noprofile', '--norc', '-eo', 'pipefail'] : ['-e'],
        env,
        folder: step['working-directory'] ?? '.',
      });
      // GitHub's machines have more programs than this one, and steps that are not played would install others.
      const isLacking = done.exitCode === PROGRAM_NOT_FOUND;
      return { ...endOf(done), ...(isLacking ? { end: 'not-played' } : {}), outputs: done.outputs, action: null };
    }
    case 'other':
      return { ...skipped, end: 'not-played' };
  }
}

function endOf({ exitCode, log }: StepResult): { readonly end: 'success' | 'failure'; readonly log: string } {
  return { end: exitCode === 0 ? 'success' : 'failure', log };
}

function kindOf(step: Step): 'checkout' | 'action' | 'script' | 'other' {
  const { uses, run, shell } = step;
  if (run !== undefined) return shell === undefined || shell === 'bash' ? 'script' : 'other';
  if (uses?.startsWith('actions/checkout@') === true) return 'checkout';
  return usesAction(step) ? 'action' : 'other';
}

/** Of actions/checkout: the stand-in takes one token, and has nothing to clean and no other servers. */
const WITHOUT_EFFECT_HERE: ReadonlySet<string> = new Set([
  ...['token', 'clean', 'fetch-tags', 'show-progress', 'set-safe-directory', 'filter', 'lfs', 'submodules'],
]);

function wantedCheckout(given: Readonly<Record<string, string>>, refOfEvent: string): Checkout {
  const { ref = '', 'fetch-depth': depth = '1', 'persist-credentials': persist = 'true', ...others } = given;
  const unknown = Object.keys(others).filter((input) => !WITHOUT_EFFECT_HERE.has(input));
  if (unknown.length > 0) throw new Error(`The sandbox's checkout does not know: ${unknown.join(', ')}`);
  const named = ref === '' ? refOfEvent : ref;
  const isWhole = named.startsWith('refs/') || /^[\da-f]{40}$/.test(named);
  return { ref: isWhole ? named : `refs/heads/${named}`, depth: Number(depth), persistCredentials: persist === 'true' };
}

function variablesOf(github: Readonly<Record<string, string>>): Record<string, string> {
  const names = ['ref', 'ref_name', 'sha', 'head_ref', 'base_ref', 'actor', 'workflow', 'job'];
  return Object.fromEntries(names.map((name) => [`GITHUB_${name.toUpperCase()}`, github[name] ?? '']));
}

function evaluated(given: Readonly<Record<string, string>>, contexts: Contexts): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, interpolate(value, contexts)]));
}
