import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Finding } from '../../../../src/core/doctor/finding.ts';
import { checkPipelineSteps } from '../../../../src/core/doctor/doctor.ts';
import { tryPipelines } from '../../../../src/wiring/doctor/try-pipeline.ts';
import { readWorkflowFiles } from '../../../../src/wiring/doctor/workflow-files.ts';
import { readSettingsInForce } from '../../../../src/wiring/settings/effective-settings.ts';
import { runGit } from '../../../integration/git/git-fixture.ts';

const FILE = '.ralph/config.json';
const WORKFLOW = '.github/workflows/ralph.yml';
const env = { PATH: process.env['PATH'] };

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-doctor-'));
  await runGit(folder, ['init', '-q', '-b', 'main']);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Returns doctor's findings about the pipeline after these files are committed. */
async function found(files: Readonly<Record<string, string>>): Promise<readonly Finding[]> {
  for (const [path, text] of Object.entries({ 'README.md': 'x', ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await runGit(folder, ['add', '-A']);
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'x']);
  return look();
}

async function look(): Promise<readonly Finding[]> {
  const read = await readWorkflowFiles(folder);
  const workflows = read.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  const settings = await readSettingsInForce(read, { folder, env });
  return (await tryPipelines(workflows, settings, { folder, env })).flatMap(checkPipelineSteps);
}

const lines = (findings: readonly Finding[]): readonly string[] => findings.map(({ kind, says }) => `${kind} ${says}`);

function pipeline(...steps: readonly object[]): string {
  return JSON.stringify({ steps }, null, 2);
}

function workflow(inputs: string, variables = ''): string {
  return `on: workflow_dispatch\n${variables}jobs:\n  ralph:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: acme/ralph-action@v1\n        with:\n${inputs.replaceAll(/^/gm, '          ')}\n`;
}

const AGENT = { name: 'work', type: 'agent' };
const CHECK = { name: 'check', type: 'command', config: { command: 'make check' } };

test('without such a file there is no finding', async () => {
  expect(await found({ 'config.yaml': 'port: 80\n' })).toEqual([
    expect.objectContaining({ kind: 'ok', says: 'No pipeline: config.yaml has no `steps` of this action.' }),
  ]);
  await runGit(folder, ['rm', '-q', 'config.yaml']);
  expect(await found({})).toEqual([]);
});

test.each([FILE, '.ralph/configs/default.json'])('the steps of %s', async (file) => {
  expect(lines(await found({ [file]: pipeline(AGENT, CHECK) }))).toEqual([
    `ok \`${file}\`: 2 steps: work (agent), check (command).`,
  ]);
});

test('every mistake with its line and column, as it is committed', async () => {
  const text = pipeline({ ...AGENT, timeout: '-1s' }, { name: 'check', type: 'comand' });
  const findings = await found({ [FILE]: text });
  expect(lines(findings)).toEqual([
    expect.stringMatching(/^problem \.ralph\/config\.json:6:18 `timeout` must not be negative/),
    expect.stringMatching(/^problem \.ralph\/config\.json:10:15 `type` is "comand".* did you mean "command"\?/),
  ]);
  await writeFile(join(folder, FILE), pipeline(AGENT));
  expect(await look()).toEqual(findings);
});

test.each<[string, object, RegExp]>([
  [
    'a prompt that is not there',
    { prompt_file: 'review.md' },
    /:\d+:\d+ `prompt_file` review\.md is not a file of the/,
  ],
  ['a rule that is not a tool', { allowed_tools: ['npm test'] }, /:\d+:\d+ the list of tool rules has the rule/],
  ['a marker on the only agent', { marker_file: 'done.md' }, /:\d+:\d+ every `agent` step has a `marker/],
])('%s', async (_, config, says) => {
  expect(await found({ [FILE]: pipeline({ ...AGENT, config }) })).toMatchObject([
    { check: 'pipeline', kind: 'problem', says: expect.stringMatching(says) as string },
  ]);
});

const REVIEW = { name: 'review', type: 'agent', config: { agent: 'codex', role: 'review', hold: 'high' } };

test.each<[string, object, RegExp]>([
  ['an unknown agent', { agent: 'codec' }, /:\d+:\d+ `agent` must be one of: claude, codex/],
  ['an unknown role', { role: 'judge', hold: undefined }, /:\d+:\d+ `role` /],
  ['an unknown severity', { hold: 'severe' }, /:\d+:\d+ `hold` /],
  ['a hold without a review', { role: undefined }, /:\d+:\d+ only a step with `role: review` has findings that hold/],
  [
    'an agent without its key',
    {},
    /^step review calls the agent codex: There is no key for the agent: `openai-api-key`/,
  ],
  [
    'a program without its path',
    { agent: 'acp' },
    /^step review calls the agent acp: give its path: `agent-path: acp=/,
  ],
])('a review with %s, as a run says it', async (_, config, says) => {
  const file = pipeline(AGENT, { ...REVIEW, config: { ...REVIEW.config, ...config } });
  expect(await found({ [FILE]: file, [WORKFLOW]: workflow('verify: make\nanthropic-api-key: x') })).toMatchObject([
    { check: 'pipeline', kind: 'problem', says: expect.stringMatching(says) as string },
  ]);
});

test('a review whose agent has its key', async () => {
  const inputs =
    'verify: make\nanthropic-api-key: x\nopenai-api-key: ${{ secrets.OPENAI_API_KEY }}\nmodel: codex=gpt-5';
  const findings = await found({ [FILE]: pipeline(AGENT, REVIEW), [WORKFLOW]: workflow(inputs) });
  expect(findings.map(({ kind }) => kind)).toEqual(['ok']);
  const unused = await found({ [FILE]: pipeline(AGENT) });
  expect(lines(unused)).toEqual([expect.stringMatching(/has a line for codex, which is neither among the agents nor/)]);
});

test('done signals that cannot be used, with and without steps', async () => {
  for (const steps of [{}, { steps: [AGENT] }])
    expect(lines(await found({ [FILE]: JSON.stringify({ ...steps, signals: { done: 7 } }) }))).toEqual([
      expect.stringMatching(/^problem \.ralph\/config\.json:1:\d+ .*done/),
    ]);
});

test('a folder that the workflow works in has its own, and the rules of the workflow count', async () => {
  const findings = await found({
    [WORKFLOW]: workflow('working-directory: shop\nverify: make\nallowed-tools: Read'),
    [`shop/${FILE}`]: pipeline({ ...AGENT, config: { allowed_tools: ['WebSearch'] } }),
  });
  expect(findings.map(({ kind, where }) => [kind, where])).toEqual([
    ['ok', WORKFLOW],
    ['warning', WORKFLOW],
  ]);
  expect(findings[1]?.says).toContain('gives WebSearch to work');
});

test('what hangs on a variable that only a run knows is not called wrong', async () => {
  const file = pipeline({ ...AGENT, timeout: '${LIMIT}' });
  const inputs = 'agent-env: LIMIT\nverify: make\nanthropic-api-key: x';
  const known = await found({ [FILE]: file, [WORKFLOW]: workflow(inputs, 'env:\n  LIMIT: 5m\n') });
  expect(known.map(({ kind }) => kind)).toEqual(['ok']);
  const open = await found({ [WORKFLOW]: workflow(inputs, 'env:\n  LIMIT: ${{ vars.LIMIT }}\n') });
  expect(open).toMatchObject([
    { kind: 'unchecked', says: expect.stringContaining('Without the value of `LIMIT`') as string },
  ]);
  const missing = await found({ [WORKFLOW]: workflow('verify: make\nanthropic-api-key: x') });
  expect(missing).toMatchObject([{ kind: 'problem' }]);
});
