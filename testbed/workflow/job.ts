import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { JobResult, RunningAction, StepResult } from '../runner.ts';
import type { Checkout, TestbedMachine } from '../testbed.ts';
import { isConditionTrue, interpolate, type Contexts, type JobStatus } from './expressions.ts';
import type { Performance } from './performance.ts';
import { parseCompositeSteps, usesAction, type WorkflowStep } from './workflow.ts';

interface PlayedStep {
  readonly name: string;
  /** The end of the step; `not-played` means that none of it could run here. */
  readonly end: 'success' | 'failure' | 'skipped' | 'not-played';
  readonly log: string;
}

/** The exit code of a shell for a missing program. */
const PROGRAM_NOT_FOUND = 127;

/** A job whose `if` holds, on its machine. */
export interface Scene {
  readonly on: TestbedMachine;
  readonly performance: Performance;
  readonly steps: readonly WorkflowStep[];
  /** Service containers, which are not started here. */
  readonly services: Readonly<Record<string, unknown>>;
  readonly github: Readonly<Record<string, string>>;
  /** Further contexts that a condition may name. */
  readonly open: Contexts;
  readonly secrets: Readonly<Record<string, string>>;
  /** The environment of every step, including `env:` of workflow and job. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the run's artifacts; each has its own folder. */
  readonly artifacts: string;
}

/** The result of a step. */
interface Act extends Omit<PlayedStep, 'name'> {
  readonly outputs: Readonly<Record<string, string>>;
  /** The running action, whose post step comes later, or null if the step did not use the action. */
  readonly action: { readonly running: RunningAction; readonly inputs: Readonly<Record<string, string>> } | null;
}

/** The result of a job's steps. */
export interface PlayedJob {
  readonly end: EndOfJob;
  readonly status: JobStatus;
  /** Outcome and outputs of each step, by its id. */
  readonly stepOutputs: Readonly<Record<string, unknown>>;
}

type EndOfJob =
  /** A step before the action's step failed, or the `if` of the action's step did not hold. */
  | { readonly kind: 'without-action'; readonly steps: readonly PlayedStep[] }
  | {
      readonly kind: 'ran';
      readonly steps: readonly PlayedStep[];
      /** The evaluated `with:` of the action's step. */
      readonly inputs: Readonly<Record<string, string>>;
      readonly result: JobResult;
      readonly workspace: string;
      readonly machine: string;
    };

/** Plays the steps of a job, one after another, and then the post step of the action. */
export async function playSteps(scene: Scene): Promise<PlayedJob> {
  const { on, performance } = scene;
  const played: PlayedStep[] = Object.keys(scene.services).map((name) => ({ name, end: 'not-played', log: '' }));
  const steps: Record<string, unknown> = {};
  let status: JobStatus = 'success';
  let action: Act['action'] = null;
  const tell = ({ name, end, log }: PlayedStep): void => {
    if (end === 'not-played') performance.onOutput?.(`Not played here: ${name}\n`);
    played.push({ name, end, log });
  };
  for (const step of scene.steps) {
    const name = step.name ?? step.uses ?? step.run ?? '';
    const runner = { os: 'Linux', temp: on.environment['RUNNER_TEMP'] };
    const known = { ...scene.open, steps, runner, env: { ...on.environment, ...scene.env } };
    const env = { ...scene.env, ...evaluateTexts(step.env ?? {}, { ...known, secrets: scene.secrets }) };
    const open = { ...known, env: { ...known.env, ...env } };
    const hashFiles = (...paths: readonly string[]): string => hashOf(on.workspace, paths);
    const given = { contexts: { ...open, secrets: scene.secrets }, env };
    const isHeld = isConditionTrue(step.if ?? '', open, { status, functions: { hashFiles } });
    const own = isHeld ? ownSteps(on.workspace, step) : null;
    // A local action is replaced by its steps, as far as they can be played.
    for (const inner of own ?? []) {
      const end = await perform(scene, inner, given);
      tell({ ...end, name: inner.name ?? inner.uses ?? inner.run ?? '' });
      if (end.end === 'failure') status = 'failure';
    }
    if (own !== null) continue;
    const act = isHeld ? await perform(scene, step, given) : skipped;
    tell({ ...act, name });
    if (act.end === 'failure' && step['continue-on-error'] !== true) status = 'failure';
    if (act.action !== null && action !== null) throw new Error('The sandbox plays the action once in a job.');
    action ??= act.action;
    if (step.id !== undefined) steps[step.id] = { outputs: act.outputs, outcome: act.end };
  }
  const shared = { stepOutputs: steps, status };
  if (action === null) return { end: { kind: 'without-action', steps: played }, ...shared };
  const { running, inputs } = action;
  const { workspace, machine } = on;
  const result = await running.post();
  return { end: { kind: 'ran', steps: played, inputs, result, workspace, machine }, ...shared };
}

/** Returns the steps of a composite action of the repository, or null if the step uses none that exists. */
function ownSteps(workspace: string, { uses = '' }: WorkflowStep): readonly WorkflowStep[] | null {
  if (!uses.startsWith('./') || uses === './') return null;
  const file = join(workspace, uses, 'action.yml');
  return existsSync(file) ? parseCompositeSteps(readFileSync(file, 'utf8')) : null;
}

const skipped: Act = { end: 'skipped', log: '', outputs: {}, action: null };

/** Runs a step whose `if` holds. */
async function perform(
  { on, github, artifacts, performance: { standIn, onStart, commands } }: Scene,
  step: WorkflowStep,
  { contexts, env }: { readonly contexts: Contexts; readonly env: Readonly<Record<string, string>> },
): Promise<Act> {
  const kind = kindOf(step);
  switch (kind) {
    case 'checkout':
      await on.checkOut(wantedCheckout(evaluateTexts(step.with ?? {}, contexts), github['ref'] ?? ''));
      return { ...skipped, end: 'success' };
    case 'action': {
      const inputs = evaluateTexts(step.with ?? {}, contexts);
      const { uses = '' } = step;
      const running = await on.runAction({
        ...on.action,
        // `$/` is a folder of the called workflow's own repository.
        ...(uses.startsWith('$/') ? { action: join(on.action.action, uses.slice(2)) } : {}),
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
      // GitHub's machines have more programs than this one, and the steps that would install them may not be played.
      const isLacking = done.exitCode === PROGRAM_NOT_FOUND;
      return { ...endOf(done), ...(isLacking ? { end: 'not-played' } : {}), outputs: done.outputs, action: null };
    }
    case 'upload':
    case 'download':
      return { ...skipped, ...(await carry(kind, artifacts, evaluateTexts(step.with ?? {}, contexts))) };
    // The testbed's GitHub creates no App tokens, so the step returns the job's own token.
    case 'app-token':
      return { ...skipped, end: 'success', outputs: { token: github['token'] ?? '' } };
    case 'cloud-login':
      return { ...skipped, ...logIn(evaluateTexts(step.with ?? {}, contexts), env) };
    case 'other':
      return { ...skipped, end: 'not-played' };
  }
}

/** The longest login in seconds that the testbed's clouds grant, as real ones do until somebody raises it. */
const MAX_LOGIN_SECONDS = 3600;

/** Logs in to AWS or Google as their actions do; only the outputs of the step show it. */
function logIn(
  given: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Pick<Act, 'end' | 'log' | 'outputs'> {
  const isAws = given['role-to-assume'] !== undefined;
  const seconds = parseInt((isAws ? given['role-duration-seconds'] : given['access_token_lifetime']) ?? '', 10);
  const refuse = (log: string) => ({ end: 'failure' as const, log, outputs: {} });
  if (env['ACTIONS_ID_TOKEN_REQUEST_TOKEN'] === undefined) return refuse('The job has no id-token: write.');
  if (!(seconds <= MAX_LOGIN_SECONDS)) return refuse(`${String(seconds)} seconds are more than the login may last.`);
  const isKeptIn = isAws
    ? given['output-env-credentials'] === 'false'
    : given['create_credentials_file'] === 'false' && given['export_environment_variables'] === 'false';
  if (!isKeptIn) return refuse('The login would be left in variables or files of the job.');
  const ofAws = {
    'aws-access-key-id': 'login-of-aws-key-id',
    'aws-secret-access-key': 'login-of-aws-secret',
    'aws-session-token': 'login-of-aws-session',
    'aws-expiration': JSON.stringify(new Date(Date.now() + seconds * 1000)),
  };
  return {
    end: 'success',
    log: '',
    outputs: isAws ? ofAws : { access_token: 'login-of-google-token', project_id: 'shop' },
  };
}

/** Copies artifacts as folders; as with the real actions, missing files fail an upload only if the step says so. */
async function carry(
  kind: 'upload' | 'download',
  artifacts: string,
  { name = 'artifact', path = '', 'if-no-files-found': ifNone = 'warn' }: Readonly<Record<string, string>>,
): Promise<Pick<Act, 'end' | 'log'>> {
  const stored = join(artifacts, name);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (kind === 'upload' && (isFile || path.endsWith('*'))) return carryAll(path.replace(/\*$/, ''), stored);
  const [from, to] = kind === 'upload' ? [path, stored] : [stored, path];
  if (!existsSync(from))
    return { end: kind === 'upload' && ifNone !== 'error' ? 'success' : 'failure', log: `There is no ${from}.` };
  await mkdir(to, { recursive: true });
  await cp(from, to, { recursive: true });
  return { end: 'success', log: '' };
}

/** Uploads every file whose path begins with `beginning`. */
async function carryAll(beginning: string, stored: string): Promise<Pick<Act, 'end' | 'log'>> {
  const names = await readdir(dirname(beginning)).catch(() => []);
  await mkdir(stored, { recursive: true });
  for (const name of names.filter((one) => one.startsWith(basename(beginning))))
    await cp(join(dirname(beginning), name), join(stored, name));
  return { end: 'success', log: '' };
}

/** Returns a hash as `hashFiles` does for plain paths, or an empty string if no file exists. */
function hashOf(workspace: string, paths: readonly string[]): string {
  const files = paths.map((path) => join(workspace, path)).filter((path) => existsSync(path));
  if (files.length === 0) return '';
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
}

function endOf({ exitCode, log }: StepResult): { readonly end: 'success' | 'failure'; readonly log: string } {
  return { end: exitCode === 0 ? 'success' : 'failure', log };
}

function kindOf(
  step: WorkflowStep,
): 'checkout' | 'action' | 'script' | 'upload' | 'download' | 'app-token' | 'cloud-login' | 'other' {
  const { uses, run, shell } = step;
  if (run !== undefined) return shell === undefined || shell === 'bash' ? 'script' : 'other';
  if (uses?.startsWith('actions/checkout@') === true) return 'checkout';
  if (uses?.startsWith('actions/upload-artifact@') === true) return 'upload';
  if (uses?.startsWith('actions/download-artifact@') === true) return 'download';
  if (uses?.startsWith('actions/create-github-app-token@') === true) return 'app-token';
  if (/^(?:aws-actions\/configure-aws-credentials|google-github-actions\/auth)@/.test(uses ?? '')) return 'cloud-login';
  return usesAction(step) ? 'action' : 'other';
}

/** Inputs of actions/checkout without effect here: the stand-in knows one token, one server, and nothing to clean. */
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

/** Returns the variables that the runner derives from the context. */
export function variablesOf(github: Readonly<Record<string, string>>): Record<string, string> {
  const names = ['ref', 'ref_name', 'sha', 'head_ref', 'base_ref', 'actor', 'workflow', 'job'];
  return Object.fromEntries(names.map((name) => [`GITHUB_${name.toUpperCase()}`, github[name] ?? '']));
}

/** Returns the texts with their expressions evaluated. */
export function evaluateTexts(given: Readonly<Record<string, string>>, contexts: Contexts): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, interpolate(value, contexts)]));
}
