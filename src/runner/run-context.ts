import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { context } from '@actions/github';
import type { RunContext } from '../config/config.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorMessage, getErrorText, UserError } from '../errors.ts';

/** The identity of a run, which main and post of one use of the action derive independently. */
export interface RunIdentity {
  /** The UUID that marks the run's processes. */
  readonly runTag: string;
  /** The run's private folder. */
  readonly runFolder: string;
  /** The key that seals the files that main leaves on disk for post. It cannot be derived without the job's token. */
  readonly key: Buffer;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Maximum number of uses of the action in a job; more indicate another problem. */
const MAX_USES = 8;

/**
 * The variables from which identities are derived: only those that the runner itself sets for each step, because an
 * agent's writes to GITHUB_ENV must not change them.
 */
const SECRETS = ['INPUT_GITHUB-TOKEN', 'ACTIONS_RUNTIME_TOKEN'];

const PLACE = ['RUNNER_TEMP', 'GITHUB_RUN_ID', 'GITHUB_RUN_ATTEMPT', 'GITHUB_JOB'];

type GitHubContext = typeof context;

/** Maximum size of an event, in bytes. GitHub's own limit for a webhook payload is 25 MB. */
const MAX_EVENT_BYTES = 25 * 1024 * 1024;

/**
 * Reads the runner's facts about this run from `environment`, the environment of this process. Throws one UserError
 * that lists every problem.
 */
export async function readRunContext(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Omit<RunContext, 'loginProblems' | 'otherLoginProblems' | 'verifyProblems'>> {
  const problems: string[] = [];
  const need = (name: string): string => {
    const value = (environment[name] ?? '').trim();
    if (value === '')
      problems.push(
        `- ${name} is not set: this is a GitHub Action and must run in a job, where the runner sets that variable.`,
      );
    return value;
  };

  const repository = need('GITHUB_REPOSITORY');
  const [owner = '', repo = '', ...rest] = repository.split('/');
  if (repository !== '' && (owner === '' || repo === '' || rest.length > 0))
    problems.push(`- GITHUB_REPOSITORY is "${repository}": expected owner/name.`);
  const workspace = need('GITHUB_WORKSPACE');
  const temp = need('RUNNER_TEMP');
  const serverUrl = need('GITHUB_SERVER_URL').replace(/\/+$/, '');
  const apiUrl = need('GITHUB_API_URL').replace(/\/+$/, '');
  const runId = need('GITHUB_RUN_ID');
  const eventName = need('GITHUB_EVENT_NAME');
  const github = await readContext(need('GITHUB_EVENT_PATH'), problems);
  if (github === null || problems.length > 0)
    throw new UserError('configuration', `The job's environment is incomplete:\n${problems.join('\n')}`);

  const runUrl = `${serverUrl}/${owner}/${repo}/actions/runs/${runId}`;
  return {
    workspace,
    temp,
    repository: { owner, repo },
    serverUrl,
    apiUrl,
    runId,
    runAttempt: Math.max(1, github.runAttempt || 1),
    runUrl,
    logUrl: runUrl,
    runnerName: environment['RUNNER_NAME'] ?? '',
    // The variable is owner/repo/.github/workflows/ralph.yml@refs/heads/main; for a reusable workflow it names the
    // calling one.
    workflowPath: /^[^/]+\/[^/]+\/([^@]+)@/.exec(environment['GITHUB_WORKFLOW_REF'] ?? '')?.[1] ?? null,
    event: { name: eventName, payload: github.payload },
  };
}

/**
 * Loads the toolkit's context, which parses the event while loading. First checks for everything that would make it
 * throw or write to the log.
 */
async function readContext(path: string, problems: string[]): Promise<GitHubContext | null> {
  if (path === '') return null;
  if (!existsSync(path)) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": there is no such file.`);
    return null;
  }
  const { size } = statSync(path);
  if (size > MAX_EVENT_BYTES) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": ${String(size)} bytes is more than an event can have.`);
    return null;
  }
  try {
    const { context } = await import('@actions/github');
    return context;
  } catch (error) {
    problems.push(`- GITHUB_EVENT_PATH is "${path}": not a JSON file (${getErrorText(error)}).`);
    return null;
  }
}

/**
 * Returns the identities of this job's uses of the action, in the order in which they are taken; main and post derive
 * the same.
 */
export function deriveRunIdentities(environment: Environment): readonly [RunIdentity, ...RunIdentity[]] {
  const textsOf = (names: readonly string[]): string =>
    JSON.stringify(names.map((name) => (environment[name] ?? '').trim()));
  const job = digest(textsOf(SECRETS), textsOf(PLACE));
  const identity = (use: number): RunIdentity => {
    const runTag = uuidFrom(digest(job, `tag ${String(use)}`));
    const runFolder = join((environment['RUNNER_TEMP'] ?? '').trim(), `ralph-run-${runTag}`);
    return { runTag, runFolder, key: digest(job, `key ${runTag}`) };
  };
  return [identity(0), ...Array.from({ length: MAX_USES - 1 }, (_, at) => identity(at + 1))];
}

/** Creates the folder of the first free identity of this job; throws a UserError if that fails. */
export function takeIdentity(environment: Environment): RunIdentity {
  for (const identity of deriveRunIdentities(environment)) if (isMade(identity, environment)) return identity;
  throw new UserError(
    'infrastructure',
    `This job uses the action more than ${String(MAX_USES)} times, or the folders of its runs in RUNNER_TEMP are taken. Use it fewer times in one job.`,
  );
}

/** Returns true if the folder was created just now, so that only this run has it and it is not a link. */
function isMade({ runFolder }: RunIdentity, environment: Environment): boolean {
  try {
    mkdirSync(runFolder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new UserError(
      'infrastructure',
      `No folder can be made in RUNNER_TEMP, which is "${environment['RUNNER_TEMP'] ?? ''}": ${completeSentence(getErrorMessage(error))} It must be an existing folder that the runner may write to.`,
      { cause: error },
    );
  }
}

function digest(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Returns a UUID of version 8, whose content its creator may choose. */
function uuidFrom(bytes: Buffer): string {
  const hex = bytes.subarray(0, 16).toString('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/**
 * Returns the name that this action gives itself in requests to GitHub, with GitHub's id of the job if the runner
 * provides it.
 */
export function formatUserAgent(environment: Readonly<Record<string, string | undefined>>): string {
  const id = (environment.ACTIONS_ORCHESTRATION_ID ?? '').trim().replace(/[^a-z0-9_.-]/gi, '_');
  return id === '' ? 'ralph-action' : `ralph-action actions_orchestration_id/${id}`;
}

/**
 * Variables that direct git or this program to another server, or make it trust another one. Any process that writes to
 * GITHUB_ENV after main has ended can set them. No check can protect against a variable that loads code into this
 * program.
 */
const STEERING = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GIT_SSL_CAINFO',
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
];

/**
 * Returns digests, made with the run's key, of the variables that decide where the token and the spans are sent, and
 * with which headers, so that post recognizes main's values; null if no such variable is set.
 */
export function digestSteering(
  environment: Readonly<Record<string, string | undefined>>,
  key: Buffer,
): { readonly steeringDigest: string | null; readonly collectorDigest: string | null } {
  const digestOf = (names: readonly string[]): string | null => {
    const set = names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : []));
    if (set.length === 0) return null;
    return createHmac('sha256', key).update('steering\n').update(JSON.stringify(set)).digest('hex');
  };
  const ofCollector = Object.keys(environment).filter((name) => name.startsWith('OTEL_'));
  return {
    steeringDigest: digestOf(STEERING.flatMap((name) => [name, name.toLowerCase()])),
    collectorDigest: digestOf(ofCollector.sort()),
  };
}
