import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ACTION_INPUTS, JOB_INPUTS, SETTING_NAMES } from '../src/config/setting-table.ts';
import { git } from './git.ts';
import { startCacheService, type CacheService } from './cache-service.ts';
import { createSampleProject, startGitRemote, type GitRemote } from './git-remote.ts';
import type { Area } from './github/route.ts';
import { startGitHub, type GitHub } from './github/server.ts';
import {
  addComment,
  addIssue,
  type Mergeability,
  startJob,
  type StoredIssue,
  type StoredPull,
} from './github/state.ts';
import {
  startMachine,
  type ActionStep,
  type JobResult,
  type Machine,
  type RunningMain,
  type TestbedIsolation,
} from './runner.ts';

/** The job's token; a workflow's `permissions:` limit its rights. */
export const TOKEN = 'ghs_sandboxTokenOfTheJob000000000000000';
/** The provider's key for the scripted agent. */
export const TESTBED_KEY = 'sk-ant-sandbox-key-that-opens-nothing';
export const REPOSITORY = { owner: 'octo', name: 'sample', defaultBranch: 'main' } as const;
const MAIN = `refs/heads/${REPOSITORY.defaultBranch}`;
/** The folder of the action under test, with the committed bundle. */
export const ACTION_FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
/**
 * The folder in which the real CLI is installed once, in the runner's layout, for everything in this repository that
 * needs it.
 */
export const TOOL_CACHE = join(ACTION_FOLDER, '.cache', 'tools');
export const SCRIPTED_AGENT = join(ACTION_FOLDER, 'testbed', 'scripted-agent.ts');

/** The parameters of one job. */
export interface TestbedJob {
  readonly event: { readonly name: string; readonly payload: unknown };
  readonly inputs?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: (text: string) => void;
  readonly onStart?: (main: RunningMain) => void;
  /** Changes the checkout before the action starts. */
  readonly prepare?: (workspace: string) => Promise<void>;
  /** The action's folder; defaults to the action under test. */
  readonly action?: string;
  /** The Node that starts the action; defaults to the Node that runs this process. */
  readonly node?: string;
  /** The checkout step; defaults to `full`, which is actions/checkout with `fetch-depth: 0`. */
  readonly checkout?: 'full' | 'shallow' | 'none';
  /** False if the checkout step does not leave its token in the checkout; it does by default. */
  readonly persistCredentials?: boolean;
}

/** The parameters of actions/checkout; `ref` is `refs/heads/…`, `refs/tags/…`, `refs/pull/N/merge` or a commit. */
export interface Checkout {
  readonly ref: string;
  /** Number of commits to fetch; 0 fetches everything, with all branches and tags. */
  readonly depth: number;
  readonly persistCredentials: boolean;
}

/** A machine of the testbed, with an empty workspace. */
export interface TestbedMachine extends Machine {
  readonly workspace: string;
  readonly machine: string;
  readonly runId: string;
  checkOut(wanted: Checkout): Promise<void>;
  /** Ends the job. */
  end(): void;
  /** The action's step without its inputs. */
  readonly action: Omit<ActionStep, 'inputs'>;
}

/** GitHub, cache service and git remote on loopback, and machines that run jobs against them. */
export interface Testbed extends AsyncDisposable {
  readonly folder: string;
  readonly github: GitHub;
  readonly cache: CacheService;
  readonly remote: GitRemote;
  /** The permissions of the token, as in the workflow's `permissions:`; `remote.setRule` controls pushes. */
  readonly permissions: Partial<Record<Area, 'read' | 'write'>>;
  /** Runs main and post on a new machine: fresh workspace, HOME and temp folder. */
  run(job: TestbedJob): Promise<JobResult & { readonly workspace: string; readonly machine: string }>;
  /** Starts a new machine that has run no step yet and contains nothing of the action. */
  machine(job: Pick<TestbedJob, 'event' | 'env' | 'onOutput'>): Promise<TestbedMachine>;
  openIssue(issue: { readonly title: string; readonly body: string; readonly labels?: readonly string[] }): StoredIssue;
  /** Runs git on the remote's bare repository. */
  git(...args: string[]): Promise<string>;
}

/** Returns inputs in the form of a workflow, with settings that are not inputs below `settings`. */
function asWritten(inputs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const isSetting = (name: string): boolean =>
    SETTING_NAMES.includes(name) && ![...ACTION_INPUTS, ...JOB_INPUTS].includes(name);
  const [settings, others] = [true, false].map((wanted) =>
    Object.fromEntries(Object.entries(inputs).filter(([name]) => isSetting(name) === wanted)),
  );
  return Object.keys(settings ?? {}).length === 0 ? inputs : { settings: JSON.stringify(settings), ...others };
}

/**
 * Starts the testbed in `folder`. `fill` puts files on `main`, by default a small sample project. `isolation` is that
 * of every run's agent; by default no agent is isolated.
 */
export async function startTestbed(
  folder: string,
  fill: (remote: GitRemote) => Promise<void> = fillWithSample,
  isolation: TestbedIsolation | null = null,
): Promise<Testbed> {
  await mkdir(folder, { recursive: true });
  const remote = await startGitRemote({
    folder: join(folder, 'remote'),
    repository: `${REPOSITORY.owner}/${REPOSITORY.name}`,
    token: TOKEN,
  });
  await fill(remote);

  const cache = await startCacheService();
  const permissions: Testbed['permissions'] = {
    metadata: 'read',
    contents: 'write',
    issues: 'write',
    pull_requests: 'write',
    checks: 'read',
    statuses: 'read',
  };
  const github = await startGitHub({
    repository: REPOSITORY,
    branches: async () => readBranches(remote.repositoryFolder),
    repositoryFolder: remote.repositoryFolder,
    tokens: { [TOKEN]: { login: 'github-actions[bot]', kind: 'app', permissions } },
    textOf: (path) => git(remote.repositoryFolder, ['show', `${MAIN}:${path}`]).catch(() => null),
    mergeable: (pull) => mergeabilityOf(remote.repositoryFolder, pull),
    parentOf: (commit) =>
      git(remote.repositoryFolder, ['rev-parse', '--verify', '--quiet', `${commit}^`]).catch(() => null),
    caches: cache.shelf,
    now: () => Date.now(),
  });
  // The cache library speaks its current protocol only to github.com, *.ghe.com and *.localhost.
  const serverUrl = `http://github.localhost:${new URL(remote.url).port}`;
  let machines = 0;

  async function machine({
    event,
    env = {},
    onOutput,
  }: Pick<TestbedJob, 'event' | 'env' | 'onOutput'>): Promise<TestbedMachine> {
    const number = (machines += 1);
    const runId = String(1000 + number);
    const place = join(folder, `machine-${String(number)}`);
    const workspace = join(place, 'work', REPOSITORY.name, REPOSITORY.name);
    await mkdir(workspace, { recursive: true });
    const runnerName = `GitHub Actions ${String(number)}`;
    const listed = startJob(
      github.state,
      { runId: Number(env['GITHUB_RUN_ID'] ?? runId), runAttempt: Number(env['GITHUB_RUN_ATTEMPT'] ?? 1), runnerName },
      Date.now(),
    );
    const started = await startMachine({
      machine: place,
      workspace,
      event,
      repository: `${REPOSITORY.owner}/${REPOSITORY.name}`,
      runId,
      // The scripted agent is a script for the Node that runs this process.
      path: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      env: {
        ...wayToRegistry(),
        ...cache.env,
        RUNNER_NAME: runnerName,
        GITHUB_SERVER_URL: serverUrl,
        GITHUB_API_URL: github.url,
        GITHUB_GRAPHQL_URL: `${github.url}/graphql`,
      },
      ...(onOutput === undefined ? {} : { onOutput }),
    });
    return {
      ...started,
      workspace,
      machine: place,
      runId,
      checkOut: (wanted) => checkOut(workspace, `${serverUrl}/${REPOSITORY.owner}/${REPOSITORY.name}`, wanted),
      end: () => {
        listed.completedAt = Date.now();
      },
      action: {
        action: ACTION_FOLDER,
        node: process.execPath,
        githubToken: TOKEN,
        ...(isolation === null ? {} : { isolation }),
      },
    };
  }

  return {
    folder,
    github,
    cache,
    remote,
    permissions,
    machine,
    async run(job) {
      const on = await machine(job);
      const { checkout = 'full', persistCredentials = true } = job;
      if (checkout !== 'none')
        await on.checkOut({ ref: MAIN, depth: checkout === 'shallow' ? 1 : 0, persistCredentials });
      await job.prepare?.(on.workspace);
      const running = await on.runAction({
        ...on.action,
        ...(job.inputs?.['phase'] === undefined ? {} : { action: join(ACTION_FOLDER, '.github/actions/job') }),
        ...(job.action === undefined ? {} : { action: job.action }),
        ...(job.node === undefined ? {} : { node: job.node }),
        inputs: { 'agent-path': SCRIPTED_AGENT, ...asWritten(job.inputs ?? {}) },
        env: { ANTHROPIC_API_KEY: TESTBED_KEY, ...job.env },
        ...(job.onStart === undefined ? {} : { onStart: job.onStart }),
      });
      const result = await running.post();
      on.end();
      return { ...result, workspace: on.workspace, machine: on.machine };
    },
    openIssue: ({ title, body, labels = ['ralph'] }) =>
      addIssue(github.state, { title, body, labels, author: REPOSITORY.owner }, Date.now()),
    git: (...args) => git(remote.repositoryFolder, args),
    async [Symbol.asyncDispose]() {
      await Promise.all([github[Symbol.asyncDispose](), cache[Symbol.asyncDispose](), remote[Symbol.asyncDispose]()]);
    },
  };
}

async function fillWithSample(remote: GitRemote): Promise<void> {
  const seed = await mkdtemp(join(dirname(remote.repositoryFolder), 'seed-'));
  await createSampleProject(seed);
  await remote.importFrom(seed);
  await rm(seed, { recursive: true, force: true });
}

/**
 * Returns the variables through which this machine reaches the npm registry; a self-hosted runner has them in its
 * environment.
 */
function wayToRegistry(): Record<string, string> {
  const names = /^(NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|https_proxy|no_proxy|npm_config_(registry|cafile))$/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => names.test(entry[0]) && entry[1] !== undefined,
    ),
  );
}

const sender = (login: string): { login: string; id: number; type: string } => ({ login, id: 1, type: 'User' });
const repositoryPayload = {
  name: REPOSITORY.name,
  full_name: `${REPOSITORY.owner}/${REPOSITORY.name}`,
  default_branch: REPOSITORY.defaultBranch,
  owner: { login: REPOSITORY.owner },
};

const issuePayload = ({ number, title, body, labels, state }: StoredIssue): Record<string, unknown> => ({
  number,
  title,
  body,
  state,
  labels: labels.map((name) => ({ name })),
});

/** Event payloads, reduced to the fields that GitHub always sends. */
export const events = {
  schedule: (cron = '17 * * * *') => ({ name: 'schedule', payload: { schedule: cron, repository: repositoryPayload } }),
  dispatch: (command?: string) => ({
    name: 'workflow_dispatch',
    payload: {
      inputs: command === undefined ? null : { command },
      ref: 'refs/heads/main',
      repository: repositoryPayload,
      sender: sender('octo'),
    },
  }),
  repositoryDispatch: (command?: string) => ({
    name: 'repository_dispatch',
    payload: {
      action: 'ralph',
      client_payload: command === undefined ? {} : { command },
      repository: repositoryPayload,
      sender: sender('octo'),
    },
  }),
  push: (ref = 'refs/heads/main') => ({
    name: 'push',
    payload: { ref, deleted: false, repository: repositoryPayload, sender: sender('octo') },
  }),
  labeled: (issue: StoredIssue, label = 'ralph', by = 'octo') => ({
    name: 'issues',
    payload: {
      action: 'labeled',
      label: { name: label },
      issue: issuePayload(issue),
      repository: repositoryPayload,
      sender: sender(by),
    },
  }),
  unlabeled: (issue: StoredIssue, label = 'ralph') => ({
    name: 'issues',
    payload: {
      action: 'unlabeled',
      label: { name: label },
      issue: issuePayload(issue),
      repository: repositoryPayload,
      sender: sender('octo'),
    },
  }),
  issue: (action: 'closed' | 'reopened' | 'deleted' | 'transferred', issue: StoredIssue, by = 'octo') => ({
    name: 'issues',
    payload: { action, issue: issuePayload(issue), repository: repositoryPayload, sender: sender(by) },
  }),
  edited: (issue: StoredIssue, by: string) => ({
    name: 'issues',
    payload: {
      action: 'edited',
      changes: { body: { from: '' } },
      issue: issuePayload(issue),
      repository: repositoryPayload,
      sender: sender(by),
    },
  }),
  /** Returns the event and also writes the comment. */
  comment: (
    github: GitHub,
    { issue, body, by = 'octo' }: { readonly issue: StoredIssue; readonly body: string; readonly by?: string },
  ) => {
    const comment = addComment(
      github.state,
      { issue: issue.number, body, author: { login: by, type: 'User' } },
      Date.now(),
    );
    const pull = github.state.pulls.some(({ number }) => number === issue.number);
    return {
      name: 'issue_comment',
      payload: {
        action: 'created',
        comment: { id: comment.id, body, user: sender(by), created_at: new Date(comment.createdAt).toISOString() },
        issue: {
          ...{ number: issue.number, title: issue.title, body: issue.body },
          ...(pull ? { pull_request: { url: '' } } : {}),
          user: { login: issue.author.login, id: 1, type: issue.author.type },
        },
        repository: repositoryPayload,
        sender: sender(by),
      },
    };
  },
  pullClosed: ({ number, head, headSha, mergedAt, fork }: StoredPull, title = `Pull request ${number}`) => ({
    name: 'pull_request',
    payload: {
      action: 'closed',
      pull_request: {
        number,
        title,
        merged: mergedAt !== null,
        head: {
          ref: head,
          sha: headSha,
          repo: { full_name: fork === null ? repositoryPayload.full_name : `${fork}/${REPOSITORY.name}` },
        },
        base: { ref: REPOSITORY.defaultBranch, repo: { full_name: repositoryPayload.full_name } },
      },
      repository: repositoryPayload,
      sender: sender('octo'),
    },
  }),
} as const;

/**
 * Checks out like actions/checkout: init, credentials in the local config, fetch, check out, remove the credentials.
 */
async function checkOut(workspace: string, url: string, { ref, depth, persistCredentials }: Checkout): Promise<void> {
  const credentials = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
  const header = `http.${new URL(url).origin}/.extraheader`;
  await git(workspace, ['init', '--quiet', '--initial-branch=main']);
  await git(workspace, ['remote', 'add', 'origin', url]);
  await git(workspace, ['config', '--local', header, `AUTHORIZATION: basic ${credentials}`]);
  const branch = /^refs\/heads\/(.+)$/.exec(ref)?.[1];
  const here =
    branch === undefined ? ref.replace(/^refs\/pull\//, 'refs/remotes/pull/') : `refs/remotes/origin/${branch}`;
  const everything = ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'];
  const isCommit = !ref.startsWith('refs/');
  await git(workspace, [
    'fetch',
    '--quiet',
    '--no-tags',
    ...(depth === 0 ? [] : [`--depth=${String(depth)}`]),
    'origin',
    ...(depth === 0 ? everything : []),
    ...(isCommit ? (depth === 0 ? [] : [ref]) : [`+${ref}:${here}`]),
  ]);
  await git(workspace, [
    'checkout',
    '--quiet',
    '--force',
    ...(branch === undefined ? ['--detach'] : ['-B', branch]),
    here,
  ]);
  if (!persistCredentials) await git(workspace, ['config', '--local', '--unset-all', header]);
}

/**
 * Returns the mergeability of a pull request according to git; unknown if this git cannot merge without a work tree.
 */
async function mergeabilityOf(repository: string, { headSha, baseSha }: StoredPull): Promise<Mergeability> {
  try {
    await git(repository, ['merge-tree', '--write-tree', baseSha, headSha]);
    return 'MERGEABLE';
  } catch (error) {
    return /exited with code 1:/.test(String(error)) ? 'CONFLICTING' : 'UNKNOWN';
  }
}

async function readBranches(repository: string): Promise<Record<string, string>> {
  const lines = (
    await git(repository, ['for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads'])
  ).split('\n');
  return Object.fromEntries(lines.filter(Boolean).map((line) => line.split(' ') as [string, string]));
}
