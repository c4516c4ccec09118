import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { createOpenapiValidator } from '../../../testbed/openapi/validator.ts';
import { runGit } from '../git/git-fixture.ts';
import { withoutWaits } from './without-waits.ts';

const KEY = 'sk-ant-api03-the-key-of-this-test';
const TOKEN = 'ghp_theTokenOfThisPerson';
const PATH = '.github/workflows/ralph.yml';
const REPO = '/repos/octo/demo';

/** Answers of GitHub and the provider by path; a number is the status of a refusal. */
type Answers = Readonly<Record<string, unknown>>;

const description = createOpenapiValidator();

interface Request {
  readonly path: string;
  readonly authorization: string;
  readonly key: string;
}

let folder = '';
let server: Server;
let url = '';
let answers: Answers = {};
let requests: Request[] = [];
let violations: object[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-doctor-test-'));
  const template = await readFile(new URL('../../../templates/workflows/ralph.yml', import.meta.url), 'utf8');
  const workflow = template
    .replace('OWNER/', 'acme/')
    .replace('# verify: npm ci && npm test', 'verify: grep -q hello a.txt');
  await mkdir(join(folder, '.github/workflows'), { recursive: true });
  await writeFile(join(folder, PATH), workflow);
  await writeFile(join(folder, 'a.txt'), 'hello');
  await runGit(folder, ['init', '-q', '-b', 'main']);
  await runGit(folder, ['add', '-A']);
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', 'start']);
  await runGit(folder, ['init', '-q', '--bare', 'remote.git']);
  await runGit(folder, ['remote', 'add', 'origin', 'git@github.com:octo/demo.git']);
  await runGit(folder, ['remote', 'set-url', '--push', 'origin', join(folder, 'remote.git')]);
  requests = [];
  violations = [];
  answers = {
    [REPO]: { full_name: 'octo/demo' },
    [`${REPO}/branches/ralph/queue/protection`]: {
      required_pull_request_reviews: {},
      allow_deletions: { enabled: true },
    },
    [`${REPO}/actions/permissions/workflow`]: {
      default_workflow_permissions: 'read',
      can_approve_pull_request_reviews: true,
    },
    [`${REPO}/actions/secrets`]: { total_count: 1, secrets: [{ name: 'OTHER' }] },
    [`${REPO}/actions/organization-secrets`]: { total_count: 1, secrets: [{ name: 'ANTHROPIC_API_KEY' }] },
    [`${REPO}/labels/ralph`]: { name: 'ralph' },
    [`${REPO}/actions/workflows`]: { total_count: 1, workflows: [{ path: PATH, state: 'active' }] },
    [`${REPO}/contents/${PATH}`]: {
      type: 'file',
      encoding: 'base64',
      content: Buffer.from(workflow).toString('base64'),
    },
    [`${REPO}/branches/ralph/issue-1/protection`]: { allow_deletions: { enabled: true } },
    [`${REPO}/git/matching-refs/heads/ralph`]: [],
    [`${REPO}/rules/branches/ralph/queue`]: [],
    [`${REPO}/rules/branches/ralph/issue-1`]: [],
    [`${REPO}/rulesets`]: [],
    '/v1/models': { data: [] },
  };
  server = createServer(({ method = '', url: asked = '', headers }, response) => {
    const { pathname, searchParams: query } = new URL(asked, url);
    if (pathname.startsWith('/repos/'))
      violations.push(...description.request(method, pathname, { query, body: undefined }));
    const path = decodeURIComponent(asked.replace(/\?.*/, ''));
    requests.push({ path, authorization: headers.authorization ?? '', key: String(headers['x-api-key'] ?? '') });
    const answer = answers[path] ?? 404;
    response.writeHead(typeof answer === 'number' ? answer : 200, {
      'content-type': 'application/json; charset=utf-8',
    });
    const refusal = { message: answer === 404 ? 'Not Found' : 'Resource not accessible by personal access token' };
    response.end(JSON.stringify(typeof answer === 'number' ? refusal : answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterEach(async () => {
  expect(violations).toEqual([]);
  server.close();
  server.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs the command line from source in the checkout, as a separate process with only this environment. */
function doctor(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: tmpdir(), ...environment };
    execFile(
      process.execPath,
      [join(inject('programs'), 'ralph.mjs'), 'doctor', ...args],
      { cwd: folder, env },
      (error, out, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, error: withoutWaits(stderr) });
      },
    );
  });
}

interface Printed {
  readonly repository: string | null;
  readonly findings: readonly { readonly check: string; readonly kind: string; readonly says: string }[];
}

const othersThanOk = (out: string): readonly (readonly [string, string])[] =>
  (JSON.parse(out) as Printed).findings
    .filter(({ kind }) => kind !== 'ok')
    .map(({ check, kind }) => [check, kind] as const);

test('a repository that is set up: every setting is asked for with the token, the key is tried once, verify runs in a clone', async () => {
  const ended = await doctor(['--json', '--verify'], {
    GITHUB_TOKEN: TOKEN,
    GITHUB_API_URL: url,
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: url,
  });
  expect(othersThanOk(ended.out)).toEqual([
    ['branch-protection', 'problem'],
    ['isolation', 'warning'],
  ]);
  expect(ended.code).toBe(1);
  expect(ended.error).toContain('one request that costs nothing');
  expect(ended.out + ended.error).not.toContain(KEY);
  expect(ended.out + ended.error).not.toContain(TOKEN);
  expect(requests.map(({ path }) => path).sort()).toEqual(Object.keys(answers).sort());
  for (const { path, authorization, key } of requests)
    expect([authorization, key]).toEqual(path === '/v1/models' ? ['', KEY] : [`token ${TOKEN}`, '']);
});

test('what the token may not ask is unchecked; a label and a file that are not there, and a refused key, are problems', async () => {
  answers = {
    ...answers,
    [`${REPO}/actions/permissions/workflow`]: 403,
    [`${REPO}/actions/secrets`]: 403,
    [`${REPO}/actions/workflows`]: 403,
    [`${REPO}/rules/branches/ralph/queue`]: 404,
    [`${REPO}/rulesets`]: 403,
    [`${REPO}/branches/ralph/queue/protection`]: 403,
    [`${REPO}/labels/ralph`]: 404,
    [`${REPO}/contents/${PATH}`]: 404,
    '/v1/models': 401,
  };
  const ended = await doctor(['--json'], {
    GITHUB_TOKEN: TOKEN,
    GITHUB_API_URL: url,
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: url,
  });
  expect(ended.code).toBe(1);
  expect(othersThanOk(ended.out)).toEqual([
    ['pull-requests', 'unchecked'],
    ['secret', 'unchecked'],
    ['key', 'problem'],
    ['label', 'problem'],
    ['schedule', 'problem'],
    ['schedule', 'unchecked'],
    ['branch-rules', 'unchecked'],
    ['branch-protection', 'unchecked'],
    ['push-rules', 'unchecked'],
    ['verify', 'unchecked'],
    ['isolation', 'warning'],
  ]);
});

test('without a token nothing is asked, and the pages are named anyway', async () => {
  const { out, code } = await doctor([], { GITHUB_API_URL: url });
  expect(code).toBe(0);
  expect(out).toContain(`octo/demo/settings/actions`);
  expect(out.match(/There is no token/g)).toHaveLength(1);
  expect(requests).toEqual([]);
});

test('verify that fails in the clone, which has committed files only, and leaves nothing behind', async () => {
  await runGit(folder, ['rm', '-q', '--cached', 'a.txt']);
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', 'without']);
  const scratch = await mkdtemp(join(folder, 'tmp-'));
  const { out, code } = await doctor(['--verify'], { TMPDIR: scratch });
  expect(out).toMatch(/✗ `verify` fails in a clean clone of this commit, at `grep -q hello a\.txt`/);
  expect(code).toBe(1);
  expect(await readdir(scratch)).toEqual([]);
});

test('verify sees the variables that the workflow names in agent-env, and no others', async () => {
  const workflow = await readFile(join(folder, PATH), 'utf8');
  const verify = `$1verify: test "$NAMED" = x -a -z "$OTHER"\n$1agent-env: NAMED`;
  await writeFile(
    join(folder, PATH),
    workflow.replace(/^( +)verify: .*$/m, (_, blanks: string) => verify.replaceAll('$1', blanks)),
  );
  const { out } = await doctor(['--json', '--verify'], { NAMED: 'x', OTHER: 'y' });
  expect((JSON.parse(out) as Printed).findings.find(({ check }) => check === 'verify')).toMatchObject({ kind: 'ok' });
});

test('a variable that a step before sets, and that verify needs and does not get, is named without a trial', async () => {
  const workflow = await readFile(join(folder, PATH), 'utf8');
  const [before, after = ''] = workflow
    .replace(/verify: .*$/m, 'verify: test "$FROM_SETUP" = yes')
    .split(/(?=^ +- uses: acme)/m);
  const step = '      - run: echo "FROM_SETUP=yes" >> "$GITHUB_ENV"\n';
  await writeFile(join(folder, PATH), `${before ?? ''}${step}${after}`);
  const { out } = await doctor(['--json'], {});
  expect((JSON.parse(out) as Printed).findings.find(({ check }) => check === 'verify')).toMatchObject({
    kind: 'problem',
    says: expect.stringContaining(
      '`FROM_SETUP`, which is set in this job and withheld from `verify`: name it in `agent-env`',
    ) as string,
  });
});

describe('of a workflow for a folder of the repository', () => {
  const git = (...args: readonly string[]): Promise<unknown> =>
    runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);
  beforeEach(async () => {
    const workflow = await readFile(join(folder, PATH), 'utf8');
    await writeFile(
      join(folder, PATH),
      workflow.replace(/^( +)verify: .*$/m, '$1verify: test -f only-here.txt\n$1working-directory: packages/shop'),
    );
    await mkdir(join(folder, 'packages/shop/.ralph'), { recursive: true });
    await writeFile(join(folder, 'packages/shop/only-here.txt'), '');
    await writeFile(join(folder, 'packages/shop/.ralph/AGENT.md'), '```bash\nmake everything\n```\n');
    await writeFile(join(folder, 'packages/shop/.ralphrc'), 'MAX_CALLS_PER_HOUR=7\n');
    await writeFile(join(folder, '.ralphrc'), 'MAX_CALLS_PER_HOUR=no number\n');
    await git('add', '--all');
    await git('commit', '--quiet', '--message=A package');
  });

  test('verify is tried there, and the notes and settings of the folder count', async () => {
    const { out } = await doctor(['--json', '--verify'], {});
    const found = (JSON.parse(out) as Printed).findings;
    expect(found.find(({ check }) => check === 'verify')).toMatchObject({ kind: 'ok' });
    expect(JSON.stringify(found)).toContain('make');
    expect(JSON.stringify(found)).not.toContain('no number');
  });

  test('a workflow missing from the commit is reported', async () => {
    await git('rm', '-r', '--quiet', '--cached', 'packages');
    await git('commit', '--quiet', '--message=Without');
    const { out } = await doctor(['--json', '--verify'], {});
    const verify = (JSON.parse(out) as Printed).findings.find(({ check }) => check === 'verify');
    expect(verify?.kind).toBe('unchecked');
    expect(verify?.says).toContain('`working-directory` is "packages/shop", but "packages" does not exist');
  });
});

test('outside of a checkout', async () => {
  expect(await doctor(['--dir', tmpdir()], {})).toMatchObject({ code: 2, error: expect.stringContaining('--dir') });
});
