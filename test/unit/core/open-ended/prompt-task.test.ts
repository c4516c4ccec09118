import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isPromptTask, parseTaskName } from '../../../../src/core/tasks/ids.ts';
import {
  findNamedDocuments,
  selectPromptTask,
  listPromptFiles,
  createPromptTask,
} from '../../../../src/core/open-ended/prompt-task.ts';
import { isPlanComplete, chooseNextTask, untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { cpuMs } from '../../../cpu.ts';
import { task } from '../core-fixtures.ts';

const FILE = '.ralph/PROMPT.md';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const taskOf = (texts: Readonly<Record<string, string>>, promptFile = FILE) =>
  createPromptTask(texts, { promptFile, sha256 });

describe('the prompt as a task', () => {
  test.each<[string, Readonly<Record<string, string>>, string | null]>([
    ['none', { 'README.md': '# Shop' }, null],
    ['an empty one', { [FILE]: ' \n', 'PROMPT.md': '' }, null],
    ['the first place', { [FILE]: 'a', 'PROMPT.md': 'b', '.ralph/prompts/LOOP_PROMPT.md': 'c' }, FILE],
    ['an empty first place', { [FILE]: '', 'PROMPT.md': 'b' }, 'PROMPT.md'],
    ['the one of the loop', { '.ralph/prompts/LOOP_PROMPT.md': 'c' }, '.ralph/prompts/LOOP_PROMPT.md'],
    [
      'the one of scripts/',
      { 'scripts/ralph/prompt.md': 'd', 'scripts/ralph/CLAUDE.md': 'e' },
      'scripts/ralph/CLAUDE.md',
    ],
    ['the one beside a loop and its list', { 'ralph.sh': 'l', 'prd.json': '{}', 'CLAUDE.md': 'e' }, 'CLAUDE.md'],
    ['one beside a loop alone', { 'ralph.sh': 'l', 'CLAUDE.md': 'e' }, null],
    ['one beside a list alone', { 'prd.json': '{}', 'CLAUDE.md': 'e', 'prompt.md': 'd' }, null],
    ['the one of another agent', { 'scripts/ralph/prompt.md': 'd' }, 'scripts/ralph/prompt.md'],
  ])('%s', (_, texts, path) => {
    expect(taskOf(texts)?.source ?? null).toEqual(path === null ? null : { kind: 'prompt', path, documents: [] });
  });

  test('the input prompt-file comes before all of them', () => {
    expect(listPromptFiles('docs/goal.md')[0]).toBe('docs/goal.md');
    expect(taskOf({ [FILE]: 'a', 'docs/goal.md': 'b' }, 'docs/goal.md')?.source).toMatchObject({
      path: 'docs/goal.md',
    });
  });

  test.each([
    ['# Build the shop\n\nGo.', 'Build the shop'],
    ['Intro\n\n  ## The till ##\n# Later', 'The till'],
    ['No heading at all', 'PROMPT.md'],
    ['#no heading\n#   \n', 'PROMPT.md'],
    [`# ${'x'.repeat(300)}`, `${'x'.repeat(119)}…`],
    ['# A \u202Eshop\u202C', 'A shop'],
  ])('%j is called %j', (text, title) => {
    expect(taskOf({ [FILE]: text })?.title).toBe(title);
  });

  test('is optional, so that whatever has a list comes first, and has an id that people can name', () => {
    const made = taskOf({ [FILE]: 'a' });
    expect(made).toMatchObject({ optional: true, obstacle: null, dependsOn: [] });
    expect(isPromptTask(made?.id ?? '')).toBe(true);
    expect(parseTaskName(made?.id ?? '')).toBe(made?.id);
  });

  const first = { [FILE]: 'a', 'specs/cart.md': 'b', 'PROMPT.md': 'not used' };
  test.each<[string, Readonly<Record<string, string>>, boolean]>([
    ['the same texts in another order', { 'PROMPT.md': 'not used', 'specs/cart.md': 'b', [FILE]: 'a' }, true],
    ['another prompt', { ...first, [FILE]: 'A' }, false],
    ['another specification', { ...first, 'specs/cart.md': 'B' }, false],
    ['a specification more', { ...first, 'specs/till.md': '' }, false],
    ['a specification by another name', { [FILE]: 'a', 'specs/carts.md': 'b' }, false],
    ['a prompt that is not the one', { ...first, 'PROMPT.md': 'still not used' }, true],
  ])('%s: the same task is %s', (_, texts, isSame) => {
    expect(taskOf(texts)?.id === taskOf(first)?.id).toBe(isSame);
  });
});

test.each<[string, readonly string[]]>([
  ['Read docs/api.md and `notes/style.txt`.', ['docs/api.md', 'notes/style.txt']],
  ['study @specs/stdlib.md, @./plan/later.rst', ['specs/stdlib.md', 'plan/later.rst']],
  ['See @TODO.md', ['@TODO.md', 'TODO.md']],
  ['Keep @fix_plan.md, .ralph/fix_plan.md, AGENT.md, @AGENT.md, CLAUDE.md and progress.txt up to date', []],
  ['Write src/main.ts and run app.py', []],
  ['Never ../../etc/passwd.txt, /etc/motd.txt or https://example.test/a.md', []],
  ['Twice: docs/a.md docs/a.md', ['docs/a.md']],
  [
    Array.from({ length: 80 }, (_, at) => `d/${String(at)}.md`).join(' '),
    Array.from({ length: 50 }, (_, at) => `d/${String(at)}.md`),
  ],
])('%j names %j', (text, documents) => {
  expect(findNamedDocuments({ [FILE]: text }, FILE)).toEqual(documents);
});

test('what is read anyhow is not asked for again, and no prompt names nothing', () => {
  expect(findNamedDocuments({ [FILE]: 'specs/a.md docs/b.md', 'specs/a.md': 'x' }, FILE)).toEqual(['docs/b.md']);
  expect(findNamedDocuments({ 'README.md': 'docs/b.md' }, FILE)).toEqual([]);
});

test('a long line of what could be a path takes no time', () => {
  const text = `${'a/'.repeat(50_000)}${'b.'.repeat(50_000)}`;
  expect(cpuMs(() => findNamedDocuments({ [FILE]: text }, FILE))).toBeLessThan(2_000);
});

describe('beside other tasks', () => {
  const prompt = task(0, { id: 'prompt-0123456789ab', optional: true, priority: 1 });
  const [required, optional] = [task(1), task(2, { optional: true, priority: 1 })];

  test.each([
    ['nothing', [], true],
    ['optional tasks', [optional], true],
    ['a required one', [optional, required], false],
  ])('%s: it is one is %s', (_, listed, isOne) => {
    expect(selectPromptTask(prompt, listed)).toEqual(isOne ? [prompt] : []);
    expect(selectPromptTask(null, listed)).toEqual([]);
  });

  const done = { ...untouchedProgress, state: 'done' as const };
  test.each([
    ['the prompt is done', [prompt, optional], { [prompt.id]: done }, true],
    ['optional tasks are done, the prompt is not', [prompt, optional], { [optional.id]: done }, false],
    ['required tasks are done', [prompt, required], { [required.id]: done }, true],
    ['the prompt is done, required tasks are not', [prompt, required], { [prompt.id]: done }, false],
  ])('%s: complete is decided by what is asked for', (_, tasks, progress, complete) => {
    expect(isPlanComplete(tasks, progress)).toBe(complete);
  });

  test('it is worked on before optional tasks', () => {
    expect(chooseNextTask([prompt, optional], {}, null)).toBe(prompt);
  });
});
