import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { git } from './git.ts';
import { startCacheService, type CacheService } from './cache-service.ts';
import { createSampleProject, startGitRemote, type GitRemote } from './git-remote.ts';
import type { Area } from './github/route.ts';
import { startGitHub, type GitHub } from './github/server.ts';
import { addComment, addIssue, startJob, type StoredIssue, type StoredPull } from './github/state.ts';
import { runJob, type JobResult, type RunningMain } from './runner.ts';

/** A token as a workflow's `permissions:` make it. */
export const TOKEN = 'ghs_sandboxTokenOfTheJob000000000000000';
export const REPOSITORY = { owner: 'octo', name: 'sample', defaultBranch: 'main' } as const;
/** Folder of the action under test: the committed bundle. */
export const ACTION_FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
/** Where the real CLI is installed once, in the runner's layout, for everything in this repository that needs it. */
export const TOOL_CACHE = join(ACTION_FOLDER, '.cache', 'tools');
const SCRIPTED_AGENT = join(ACTION_FOLDER, 'sandbox', 'scripted-agent.ts');

/** What one job differs in from another. */
export interface SandboxJob {
  readonly event: { readonly name: string; readonly payload: unknown };
  readonly inputs?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: (text: string) => void;
  readonly onStart?: (main: RunningMain) => void;
  /** Changes the checkout before the action starts. */
  readonly prepare?: (workspace: string) => Promise<void>;
  /** Folder of the action, where it is not the one under test itself. */
  readonly action?: string;
  /** What the checkout step is configured with; actions/checkout with `fetch-depth: 0` by default. */
  readonly checkout?: 'full' | 'shallow' | 'none';
}

/** GitHub, cache service and git remote on loopback, and machines that run jobs against them. */
export interface Sandbox extends AsyncDisposable {
  readonly folder: string;
  readonly github: GitHub;
  readonly cache: CacheService;
  readonly remote: GitRemote;
  /** What `permissions:` of the workflow give the token; for pushes there is `remote.setRule`. */
  readonly permissions: Partial<Record<Area, 'read' | 'write'>>;
  /** Runs main and post on a new machine: fresh workspace, HOME and temp folder. */
  run(job: SandboxJob): Promise<JobResult & { readonly workspace: string; readonly machine: string }>;
  openIssue(issue: { readonly title: string; readonly body: string; readonly labels?: readonly string[] }): StoredIssue;
  /** Runs git on the remote's bare repository. */
  git(...args: string[]): Promise<string>;
}

/** Starts the sandbox in `folder`, with a small sample project on `main`. */
export async function startSandbox(folder: string): Promise<Sandbox> {
  await mkdir(folder, { recursive: true });
  const seed = await mkdtemp(join(folder, 'seed-'));
  await createSampleProject(seed);
  const remote = await startGitRemote({
    folder: join(folder, 'remote'),
    repository: `${REPOSITORY.owner}/${REPOSITORY.name}`,
    token: TOKEN,
  });
  await remote.importFrom(seed);
  await rm(seed, { recursive: true, force: true });

  const cache = await startCacheService();
  const permissions: Sandbox['permissions'] = {
    metadata: 'read',
    contents: 'write',
    issues: 'write',
    pull_requests: 'write',
  };
  const github = await startGitHub({
    repository: REPOSITORY,
    branches: async () => readBranches(remote.repositoryFolder),
    tokens: { [TOKEN]: { login: 'github-actions[bot]', kind: 'app', permissions } },
    caches: cache.shelf,
    now: () => Date.now(),
  });
  // The cache library speaks its current protocol only to github.com, *.ghe.com and *.localhost.
  const serverUrl = `http://github.localhost:${new URL(remote.url).port}`;
  let machines = 0;

  return {
    folder,
    github,
    cache,
    remote,
    permissions,
    async run(job) {
      const number = (machines += 1);
      const machine = join(folder, `machine-${String(number)}`);
      const workspace = join(machine, 'work', REPOSITORY.name, REPOSITORY.name);
      await mkdir(workspace, { recursive: true });
      if (job.checkout !== 'none')
        await checkOut(workspace, `${serverUrl}/${REPOSITORY.owner}/${REPOSITORY.name}`, job.checkout ?? 'full');
      await job.prepare?.(workspace);
      const runId = String(1000 + number);
      const runnerName = `GitHub Actions ${String(number)}`;
      const listed = startJob(
        github.state,
        {
          runId: Number(job.env?.['GITHUB_RUN_ID'] ?? runId),
          runAttempt: Number(job.env?.['GITHUB_RUN_ATTEMPT'] ?? 1),
          runnerName,
        },
        Date.now(),
      );
      const result = await runJob({
        action: job.action ?? ACTION_FOLDER,
        node: process.execPath,
        machine,
        workspace,
        event: job.event,
        inputs: { 'agent-path': SCRIPTED_AGENT, ...job.inputs },
        githubToken: TOKEN,
        repository: `${REPOSITORY.owner}/${REPOSITORY.name}`,
        runId,
        // The scripted agent is a script of the Node that runs here.
        path: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
        env: {
          ...wayToRegistry(),
          ANTHROPIC_API_KEY: 'sk-ant-sandbox-key-that-opens-nothing',
          ...cache.env,
          RUNNER_NAME: runnerName,
          GITHUB_SERVER_URL: serverUrl,
          GITHUB_API_URL: github.url,
          GITHUB_GRAPHQL_URL: `${github.url}/graphql`,
          ...job.env,
        },
        ...(job.onOutput === undefined ? {} : { onOutput: job.onOutput }),
        ...(job.onStart === undefined ? {} : { onStart: job.onStart }),
      });
      listed.completedAt = Date.now();
      return { ...result, workspace, machine };
    },
    openIssue: ({ title, body, labels = ['ralph'] }) =>
      addIssue(github.state, { title, body, labels, author: REPOSITORY.owner }, Date.now()),
    git: (...args) => git(remote.repositoryFolder, args),
    async [Symbol.asyncDispose]() {
      await Promise.all([github[Symbol.asyncDispose](), cache[Symbol.asyncDispose](), remote[Symbol.asyncDispose]()]);
    },
  };
}

/** How this machine reaches the npm registry; a self-hosted runner has the same in its environment. */
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

/** Event payloads, cut down to what GitHub always sends. */
export const events = {
  schedule: () => ({ name: 'schedule', payload: { schedule: '17 * * * *', repository: repositoryPayload } }),
  dispatch: () => ({
    name: 'workflow_dispatch',
    payload: { inputs: null, ref: 'refs/heads/main', repository: repositoryPayload, sender: sender('octo') },
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
  /** Also writes the comment. */
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
        comment: { id: comment.id, body, user: sender(by) },
        issue: { number: issue.number, title: issue.title, ...(pull ? { pull_request: { url: '' } } : {}) },
        repository: repositoryPayload,
        sender: sender(by),
      },
    };
  },
  pullClosed: ({ number, head, headSha, mergedAt, fork }: StoredPull) => ({
    name: 'pull_request',
    payload: {
      action: 'closed',
      pull_request: {
        number,
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

/** Like actions/checkout: init, credentials in the local config, fetch, check the branch out. */
async function checkOut(workspace: string, url: string, depth: 'full' | 'shallow'): Promise<void> {
  const credentials = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
  await git(workspace, ['init', '--quiet', '--initial-branch=main']);
  await git(workspace, ['remote', 'add', 'origin', url]);
  await git(workspace, [
    'config',
    '--local',
    `http.${new URL(url).origin}/.extraheader`,
    `AUTHORIZATION: basic ${credentials}`,
  ]);
  await git(workspace, [
    'fetch',
    '--quiet',
    ...(depth === 'shallow' ? ['--depth=1'] : []),
    'origin',
    '+refs/heads/main:refs/remotes/origin/main',
  ]);
  await git(workspace, ['checkout', '--quiet', '--force', '-B', 'main', 'refs/remotes/origin/main']);
}

async function readBranches(repository: string): Promise<Record<string, string>> {
  const lines = (
    await git(repository, ['for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads'])
  ).split('\n');
  return Object.fromEntries(lines.filter(Boolean).map((line) => line.split(' ') as [string, string]));
}
