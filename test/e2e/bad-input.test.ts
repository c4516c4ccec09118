import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createScene, isNotification, type Scene, type SceneJob } from './e2e-fixture.ts';
import { rows as few } from '../runs.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await createScene();
  scene.openIssue('Count');
});
afterAll(() => scene[Symbol.asyncDispose]());

const git = (folder: string, ...args: string[]) =>
  execFileSync('git', args, { cwd: folder, env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } });
const prepared = (change: (workspace: string) => void): SceneJob => ({
  prepare: (workspace) => {
    change(workspace);
    return Promise.resolve();
  },
});
const NOWHERE = 'http://127.0.0.1:2';

interface Row {
  readonly name: string;
  readonly job?: SceneJob;
  /** Changes the environment and returns a function that restores it. */
  readonly given?: (scene: Scene) => Promise<() => unknown> | (() => unknown);
  readonly reason: 'configuration' | 'infrastructure';
  /** Parts of the annotation: the problem, the value, the next step. */
  readonly message: readonly (string | RegExp)[];
}

const rows: readonly Row[] = [
  {
    name: 'several wrong inputs at once',
    job: { inputs: { 'max-iterations': 'many', draft: 'yes', 'fail-on': 'halted,sometimes' } },
    reason: 'configuration',
    message: [
      '3 inputs are not usable',
      'max-iterations: "many" is not a whole number from 1 to 1000',
      'draft: "yes" must be one of: true, false',
      'fail-on: "halted,sometimes" must be a list of',
    ],
  },
  {
    name: 'no event file, and a wrong input',
    job: { env: { GITHUB_EVENT_PATH: '/nowhere.json' }, inputs: { session: 'always' } },
    reason: 'configuration',
    message: [
      'GITHUB_EVENT_PATH is "/nowhere.json": there is no such file',
      'settings: session "always" must be one of: resume, task, fresh',
    ],
  },
  {
    name: 'a setting as an input, an input of one job, and a wrong entry of `settings`',
    job: {
      inputs: { settings: 'max-patch-kb: 1\nmax-patch-files: many' },
      env: { 'INPUT_MAX-PATCH-KIB': '4096', INPUT_PHASE: 'gate' },
    },
    reason: 'configuration',
    message: [
      'settings are not usable',
      'settings: max-patch-files "many" is not a whole number from 1 to 100000',
      'settings: max-patch-kb is not a setting. Did you mean max-patch-kib?',
      'max-patch-kib: is a setting, not an input. Put it under `settings`, as `max-patch-kib: 4096`',
      'phase: is an input of the action of one job',
    ],
  },
  {
    name: 'an event that is not supported',
    job: { event: { name: 'release', payload: { action: 'published' } } },
    reason: 'configuration',
    message: ['The event "release" is not supported', 'schedule, workflow_dispatch', 'change `on:`'],
  },
  {
    name: 'a type of event that is not supported',
    job: { event: { name: 'issues', payload: { action: 'opened' } } },
    reason: 'configuration',
    message: ['"issues" with the type "opened"', 'issues (types: [labeled, unlabeled, closed'],
  },
  {
    name: 'no key for the agent',
    job: { env: { ANTHROPIC_API_KEY: '' } },
    reason: 'configuration',
    message: ['`anthropic-api-key` and `claude-code-oauth-token` are both empty', 'secrets.ANTHROPIC_API_KEY'],
  },
  {
    name: 'a token without contents: write',
    given: readOnlyRemote,
    reason: 'configuration',
    message: [/contents: write/],
  },
  {
    name: 'a token without pull-requests: write',
    given: pullRequestsReadOnly,
    reason: 'configuration',
    message: ['open pull requests', '`pull-requests: write`', '`permissions:`'],
  },
  {
    name: 'pull requests by Actions switched off',
    given: pullRequestsOff,
    reason: 'configuration',
    message: ['Allow GitHub Actions to create and approve pull requests', 'Settings'],
  },
  {
    name: 'a shallow checkout of something that the server no longer has as a branch',
    job: {
      checkout: 'shallow',
      ...prepared((folder) => {
        git(folder, 'checkout', '-q', '-b', 'only-here');
      }),
    },
    reason: 'configuration',
    message: ['is shallow', 'could not be fetched', 'only-here', 'fetch-depth: 0'],
  },
  {
    name: 'no checkout',
    job: { checkout: 'none' },
    reason: 'configuration',
    message: ['is not a git checkout', 'actions/checkout'],
  },
  {
    name: 'a detached HEAD',
    job: prepared((folder) => {
      git(folder, 'checkout', '-q', '--detach');
    }),
    reason: 'configuration',
    message: ['HEAD is detached at', '"ref:"'],
  },
  {
    name: 'a dirty workspace',
    job: prepared((folder) => {
      writeFileSync(join(folder, 'left-over.txt'), 'x');
    }),
    reason: 'configuration',
    message: ['is not clean: left-over.txt', '.gitignore'],
  },
  {
    name: 'an empty repository',
    job: {
      checkout: 'none',
      ...prepared((folder) => {
        git(folder, 'init', '-q', '-b', 'main');
      }),
    },
    reason: 'configuration',
    message: ['has no commits yet', 'Push a first commit'],
  },
  {
    name: 'a checkout with several problems',
    job: {
      checkout: 'shallow',
      env: { ANTHROPIC_API_KEY: '' },
      ...prepared((folder) => {
        writeFileSync(join(folder, 'left-over.txt'), 'x');
      }),
    },
    reason: 'configuration',
    message: ['left-over.txt', 'both empty'],
  },
  {
    name: 'a rate-limited API',
    given: rateLimited,
    reason: 'infrastructure',
    message: ['rate limit of this token', /used up until \d{4}-/, 'Run again then'],
  },
  {
    name: 'an API that is down',
    job: { env: { GITHUB_API_URL: NOWHERE } },
    reason: 'infrastructure',
    message: ['could not be reached', NOWHERE, 'network and proxy'],
  },
  {
    name: 'a git server that is down',
    job: { env: { GITHUB_SERVER_URL: 'http://github.localhost:2' } },
    reason: 'infrastructure',
    message: ['http://github.localhost:2/octo/sample.git', /connect/i, 'Check that the server can be reached'],
  },
  {
    name: 'an agent that does not exist',
    job: { inputs: { 'agent-path': '/nowhere/claude' } },
    reason: 'configuration',
    message: ['/nowhere/claude', 'cannot be started', 'Set agent-path'],
  },
  {
    name: 'a base branch that does not exist',
    job: { inputs: { 'base-branch': 'develop' } },
    reason: 'configuration',
    message: ['base-branch', '"develop", does not exist'],
  },
];

test.each(few(9, rows))(
  '$name: exit 1 with the problem, the value and the remedy; no call, and only one notification on GitHub',
  async ({ job, given, reason, message }) => {
    const putBack = await given?.(scene);
    try {
      const run = await scene.run(job);
      expect(run.outputs).toMatchObject({ outcome: 'failed', reason });
      expect(run).toMatchObject({ calls: 0, main: { exitCode: 1 } });
      const annotation =
        run.main.log
          .split('\n')
          .findLast((line) => line.startsWith('::error::'))
          ?.replaceAll('%0A', '\n') ?? '';
      for (const text of message) expect(annotation).toMatch(text);
      const [, whyNobody = ''] = /^::warning::Nobody could be notified of this failure(.*)$/m.exec(run.main.log) ?? [];
      expect(['', '.']).toContain(whyNobody);
      expect(run.main.log).not.toMatch(/^\s+at /m);
      const { comments, reactions, pulls } = scene.testbed.github.state;
      // A configuration that stops every run notifies people, once.
      expect({ others: comments.filter((one) => !isNotification(one)), reactions, pulls }).toEqual({
        others: [],
        reactions: [],
        pulls: [],
      });
      expect(comments.length).toBeLessThanOrEqual(1);
      expect(scene.testbed.cache.entries).toEqual([]);
      expect(await scene.testbed.git('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main');
      // A lane that was claimed is released, and nothing stays reserved.
      const refs = await scene.testbed.git('for-each-ref', '--format=%(refname)', 'refs/ralph');
      const files = refs === '' ? '' : await scene.testbed.git('ls-tree', '-r', '--name-only', refs);
      for (const file of files.split('\n').filter(Boolean)) {
        expect(JSON.parse(await scene.testbed.git('show', `${refs}:${file}`))).toMatchObject(
          file === 'usage.json' ? { reservations: [] } : { lease: null, state: null },
        );
      }
    } finally {
      await putBack?.();
    }
  },
);

async function readOnlyRemote({ testbed }: Scene): Promise<() => Promise<void>> {
  await testbed.remote.setRule('read-only');
  return () => testbed.remote.setRule('open');
}

function pullRequestsReadOnly({ testbed: { permissions } }: Scene): () => void {
  permissions.pull_requests = 'read';
  return () => {
    permissions.pull_requests = 'write';
  };
}

function pullRequestsOff({ testbed: { github } }: Scene): () => void {
  github.state.settings.actionsMayOpenPullRequests = false;
  return () => {
    github.state.settings.actionsMayOpenPullRequests = true;
  };
}

function rateLimited({ testbed: { github } }: Scene): () => void {
  github.state.rate.remaining = 0;
  return () => {
    github.state.rate.remaining = 1000;
  };
}
