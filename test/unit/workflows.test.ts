import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { completed, INPUTS_OF, problemsOf, problemsOfAction, workflowsIn, writtenWorkflows } from '../workflow-lint.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const template = read('templates/workflows/ralph.yml');
const written = writtenWorkflows();

describe("GitHub's language service and actionlint find nothing wrong", () => {
  test.each(written.map((workflow) => [workflow.where, workflow] as const))('in %s', async (_where, workflow) => {
    expect(await problemsOf(workflow)).toEqual([]);
  });

  test('in action.yml', async () => {
    expect(await problemsOfAction(read('action.yml'))).toEqual([]);
  });
});

test('the examined workflows: those of this repository, the template, and those in documents', () => {
  const places = written.map(({ where }) => where.replace(/:\d+$/, ''));
  expect(places).toEqual(
    expect.arrayContaining(['.github/workflows/ci.yml', 'templates/workflows/ralph.yml', 'README.md']),
  );
});

test('an action that gets inputs is one whose inputs are checked', () => {
  const given = written.flatMap(({ text }) =>
    [...text.matchAll(/uses: ([\w-]+\/[\w-]+)@.*\n +with:/g)].map(([, name = '']) => name),
  );
  expect(given.length).toBeGreaterThan(20);
  const known = ['OWNER/ralph-action', ...Object.keys(INPUTS_OF)];
  expect(given.filter((name) => !known.includes(name))).toEqual([]);
});

test('workflows for copying use each action in the version that the workflows of this repository pin', () => {
  const texts = [...written.map(({ text }) => text), read('src/core/doctor/step-findings.ts')];
  const versions = new Map<string, Set<string>>();
  for (const [, name = '', exact, pinned] of texts
    .join('\n')
    .matchAll(/uses: ((?:aws-|google-github-)?actions\/[\w-]+)@(?:(v\d+)|[0-9a-f]{40} # (v\d+)\.)/g))
    versions.set(name, (versions.get(name) ?? new Set()).add(exact ?? pinned ?? ''));
  expect(versions.get('actions/checkout')?.size).toBe(1);
  expect([...versions].filter(([, found]) => found.size > 1)).toEqual([]);
});

test('no code block that shows a step is passed over', () => {
  const part = 'strategy:\n  steps:\n    - uses: actions/checkout@v5';
  expect(() => workflowsIn({ where: 'it', text: `\`\`\`yaml\n${part}\n\`\`\`` })).toThrow('it:1 shows a step');
});

describe('a mistake in a workflow is found', () => {
  test.each([
    [
      'an input that the action does not have',
      'anthropic-api-key:',
      'anthropic-key:',
      "Invalid action input 'anthropic-key'",
    ],
    ['an unknown type of an event', '[closed]', '[clsed]', "Unexpected value 'clsed'"],
    ['an unknown permission', '  issues: write', '  isues: write', "Unexpected value 'isues'"],
    ['an invalid schedule', "'17 * * * *'", "'77 * * * *'", 'Invalid cron expression'],
    ['a field that the event does not have', 'comment.body', 'comment.bdy', 'Context access might be invalid: bdy'],
    ['an input that the dispatch does not have', 'inputs.command', 'inputs.comand', '"comand" is not defined'],
    ['a broken expression', "|| 'queue' }}", '|| }}', 'expression'],
    ['a misspelled input of another action', 'fetch-depth:', 'fetch-deph:', "Invalid action input 'fetch-deph'"],
    ['a machine that GitHub does not have', 'ubuntu-latest', 'ubuntu-latst', 'label "ubuntu-latst" is unknown'],
    ['a key that nothing knows', '    runs-on:', '    run-on:', 'run-on'],
  ])('%s', async (_what, right, wrong, message) => {
    expect(template).toContain(right);
    const problems = await problemsOf({ where: 'it', text: template.replace(right, wrong) });
    expect(problems.join('\n')).toContain(message);
  });
});

describe('a part of a workflow in a document', () => {
  const upload =
    '- uses: actions/upload-artifact@v4\n  if: steps.ralph.outputs.journal-path\n  with:\n    name: it\n    path: it';
  test.each([
    ['steps', upload],
    ['steps that stand further right', upload.replace(/^/gm, '      ')],
    ['one step', 'uses: OWNER/ralph-action@v1\nwith:\n  verify: npm test'],
    ['what a step is given', 'with:\n  verify: npm test'],
    ['inputs', 'verify: npm test\nmax-iterations: 3'],
    ['events', 'on:\n  push:\n    branches: [main]'],
    ['a group', 'concurrency: { group: ralph }'],
    ['a job', 'runs-on: ubuntu-latest\nsteps:\n  - run: npm ci'],
    ['jobs', 'jobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm ci'],
  ])('%s: completed, and checked like a whole one', async (_what, part) => {
    const [workflow] = workflowsIn({
      where: 'it',
      text: `1. It:\n\n   \`\`\`yml\n${part.replace(/^/gm, '   ')}\n   \`\`\`\n`,
    });
    expect(workflow).toBeDefined();
    if (workflow !== undefined) expect(await problemsOf(workflow)).toEqual([]);
  });

  test.each([
    ['an input that the action does not have', 'with:\n  verifies: npm test', "Invalid action input 'verifies'"],
    ['an unknown key of a step', `${upload}\n  wit: 1`, 'wit'],
    ['an unknown event', 'on: [pus]', 'pus'],
  ])('%s is found', async (_what, part, message) => {
    expect((await problemsOf({ where: 'it', text: completed(part) ?? '' })).join('\n')).toContain(message);
  });

  test.each(['name: Bug\ndescription: x\nbody: []', 'just a text', '', 'version: 2\nupdates: []'])(
    '%j is not completed',
    (part) => {
      expect(completed(part)).toBeNull();
    },
  );
});
