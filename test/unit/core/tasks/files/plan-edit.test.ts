import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costly } from '../../../../cpu.ts';
import type { NewTask } from '../../../../../src/core/tasks/files/form/root-plan.ts';
import { addToPlan } from '../../../../../src/core/tasks/files/plan-edit.ts';
import { parsePlan } from '../../../../../src/core/tasks/files/plan.ts';
import { runs } from '../../../../runs.ts';
import { optionalSections } from '../../core-fixtures.ts';

const PATH = '.ralph/fix_plan.md';
const wanted: NewTask = { title: 'New', body: '', priority: null, optional: false };
const add = (plan: string, change: Partial<NewTask> = {}): ReturnType<typeof addToPlan> =>
  addToPlan({ path: PATH, text: plan, optionalSections }, { ...wanted, ...change });
const high = { priority: 'high' } as const;
const low = { priority: 'low' } as const;
const optional = { optional: true };
const NO_PLACE =
  'no place was found where it would be read as a task without changing another one: close an open code block or comment, or shorten the plan';

/** Each plan shows the place of the new item: the lines with `+` are added. */
describe('an item goes under its heading', () => {
  test.each<[string, Partial<NewTask>, string]>([
    [
      'behind the items of its priority',
      high,
      '# Plan\n\n## High Priority\n\n- [x] a\n- [ ] b\n+- [ ] New\n\n## Low Priority\n\n- [ ] c\n',
    ],
    ['below a heading without items', low, '## High\n\n- [ ] a\n\n## Low\n+\n+- [ ] New\n\n## Done\n\n- [x] c\n'],
    ['below a heading that the next one follows at once', low, '## Low\n+\n+- [ ] New\n+\n## Done\n'],
    [
      'medium, when nothing is said',
      {},
      '## High\n\n- [ ] a\n\n## Medium\n\n- [ ] b\n+- [ ] New\n\n## Optional\n\n- [ ] c\n',
    ],
    ['optional', optional, '## High\n\n- [ ] a\n\n## Nice to have\n\n- [ ] b\n+- [ ] New\n'],
    ['without headings: behind the items that are open', {}, '# Plan\n\n- [x] a\n- [ ] b\n+- [ ] New\n\nSome words.\n'],
    [
      'under any heading that people use, but not under what is done',
      {},
      '# Plan\n\n## Backend\n\n- [ ] a\n+- [ ] New\n\n## Completed\n\n- [x] b\n',
    ],
    [
      'behind items with text of their own',
      high,
      '## High\n- [ ] a\n\n  More.\n\n  - [ ] nested\n+- [ ] New\n\nWords.\n',
    ],
    ['in its own bullet', {}, '* [ ] a\n+* [ ] New\n'],
    ['in its own numbers', {}, '8. [ ] a\n9. [x] b\n+10. [ ] New\n'],
    ['between blank lines where the items are', {}, '- [ ] a\n\n- [ ] b\n+\n+- [ ] New\n'],
    ['indented as they are', {}, '  + [ ] a\n+  + [ ] New\n'],
    ['with a body', { body: 'Why:\n\n- plain\n' }, '- [ ] a\n+- [ ] New\n+\n+  Why:\n+\n+  - plain\n+\n'],
    [
      'under a heading of its own, above what is done',
      low,
      '# Plan\n\n## High\n\n- [ ] a\n+\n+## Low Priority\n+\n+- [ ] New\n\n## Done\n\n- [x] b\n',
    ],
    [
      'under an outer heading that would else be optional',
      {},
      '# Optional\n\n- [ ] a\n+\n+# Medium Priority\n+\n+- [ ] New\n',
    ],
    [
      'not in quotes, code or comments',
      high,
      '> ## High\n> - [ ] a\n\n```\n## High\n- [ ] a\n```\n+\n+## High Priority\n+\n+- [ ] New\n',
    ],
    [
      'of two headings of its priority the last with items',
      high,
      '## High\n\n- [ ] a\n\n## P0\n\n- [ ] b\n+- [ ] New\n\n## Critical\n\nNothing yet.\n',
    ],
    [
      'of two without items the first',
      low,
      '## Low\n\nNothing yet.\n+\n+- [ ] New\n\n## Low Priority\n\nNothing here.\n',
    ],
    [
      'by the innermost heading that gives a priority',
      low,
      '# High\n\n- [ ] a\n\n## Low\n\n- [ ] b\n+- [ ] New\n\n# Parser\n\nWords.\n',
    ],
    [
      'not under its priority where everything is optional',
      high,
      '# Optional\n\n## High\n\n- [ ] a\n+\n+# High Priority\n+\n+- [ ] New\n',
    ],
    [
      'optional of several the last with items',
      optional,
      '## Optional\n\n- [ ] a\n+- [ ] New\n\n## Future\n\nNothing yet.\n',
    ],
    [
      'under any heading: the last with open items',
      {},
      '## A\n\n- [ ] a\n\n## B\n\n- [ ] b\n+- [ ] New\n\n## C\n\n- [x] c\n\n## D\n\nWords.\n',
    ],
    [
      'under any heading: the last with items, when all are done',
      {},
      '## A\n\n- [x] a\n\n## B\n\n- [x] b\n+- [ ] New\n\n## C\n\nWords.\n',
    ],
    ['not under a heading of another priority', {}, '## Low\n\n- [ ] a\n+\n+## Medium Priority\n+\n+- [ ] New\n'],
    ['urgent work not under any heading', high, '## Backend\n\n- [ ] a\n+\n+## High Priority\n+\n+- [ ] New\n'],
    ['optional work under a heading of its own', optional, '## High\n\n- [ ] a\n+\n+## Optional\n+\n+- [ ] New\n'],
    [
      'under a heading of its own above everything, where all is done',
      high,
      '+## High Priority\n+\n+- [ ] New\n+\n## Done\n\n- [x] a\n',
    ],
    ['in its own numbers with a body', { body: 'Why' }, '8. [ ] a\n+9. [ ] New\n+\n+   Why\n'],
    ['with a body above words', { body: 'Why' }, '- [ ] a\n+- [ ] New\n+\n+  Why\n\nWords.\n'],
    ['not in a code block that stays open', {}, '## Medium\n+\n+- [ ] New\n\n```\n- [ ] a\n'],
  ])('%s', (_, change, marked) => {
    const lines = marked.split('\n');
    const plan = lines.filter((line) => !/^\+(?! \[)/.test(line)).join('\n');
    const text = lines.map((line) => line.replace(/^\+(?! \[)/, '')).join('\n');
    for (const end of ['\n', '\r\n']) {
      const added = add(plan.replaceAll('\n', end), change);
      expect(added.kind === 'added' ? added.text.replace(/\s+$/, end) : added).toBe(
        text.replaceAll('\n', end).replace(/\s+$/, end),
      );
    }
  });
});

test.each(['Done', 'Complete', 'Completed (2)', 'Finished', 'Archive', 'Archived items', 'Note', 'NOTES'])(
  'under %j stands what is finished: nothing goes there, and headings go above it',
  (name) => {
    const finished = `## ${name}\n\n- [ ] b\n`;
    expect(add(`## High\n\n- [x] a\n\n${finished}`)).toMatchObject({
      text: `## High\n\n- [x] a\n\n## Medium Priority\n\n- [ ] New\n\n${finished}`,
    });
  },
);

test.each(['Donemark', 'Not done', 'Notebook'])('under %j work continues', (name) => {
  expect(add(`## ${name}\n\n- [ ] b\n`)).toMatchObject({ text: `## ${name}\n\n- [ ] b\n- [ ] New\n` });
});

test('a body of any line ends gets those of the plan', () => {
  expect(add('- [ ] a\r\n', { body: 'b\rc\r\n\nd' })).toMatchObject({
    text: '- [ ] a\r\n- [ ] New\r\n\r\n  b\r\n  c\r\n\r\n  d\r\n',
  });
});

test.each([
  ['blanks', ' \n', '# Fix plan\n\n## Medium Priority\n\n- [ ] New\n'],
  ['nothing', '', '# Fix plan\n\n## Medium Priority\n\n- [ ] New\n'],
  ['a last line without its end', '- [ ] a', '- [ ] a\n- [ ] New'],
  ['a byte order mark', '\uFEFF- [ ] a\n', '\uFEFF- [ ] a\n- [ ] New\n'],
])('to %s', (_, plan, text) => {
  expect(add(plan)).toMatchObject({ kind: 'added', text });
});

test('id and line are those that runs see', () => {
  const added = add('- [ ] a\n', { title: 'Fix `it` **now**' });
  expect(added).toMatchObject({
    kind: 'added',
    line: 2,
    id: parsePlan(PATH, '- [ ] Fix *it* now', optionalSections).tasks[0]?.task.id,
  });
});

describe('nothing is added', () => {
  test.each([
    ['when it is there', '- [ ] a\n- [x] **New**\n', 'New', 'done'],
    ['when it is nested somewhere', '- [ ] a\n  - [ ] New\n', 'New', 'todo'],
  ])('%s', (_, plan, title, state) => {
    expect(add(plan, { title })).toMatchObject({ kind: 'there', line: 2, state });
  });

  test.each([
    ['without a visible text', '', '<!-- x -->', 'its title has no visible text'],
    ['where a comment stays open from the start', '<!--\n', 'New', NO_PLACE],
  ])('%s', (_, plan, title, message) => {
    const added = add(plan, { title, priority: 'high' });
    expect(added).toMatchObject({ kind: 'refused', problem: { file: PATH, line: null, column: null, message } });
  });

  costly('where the plan is too long', () => {
    const added = add(`- [ ] a\n${'words\n\n'.repeat(3_000)}`, { title: 'New', priority: 'high' });
    expect(added).toMatchObject({
      kind: 'refused',
      problem: { file: PATH, line: null, column: null, message: NO_PLACE },
    });
  });
});

const line = fc.constantFrom(
  '# Plan',
  '## High',
  '## Low Priority',
  '### Optional',
  '## Done',
  '- [ ] a',
  '- [x] b',
  '  - [ ] c',
  '* [ ] d',
  '1. [ ] e',
  '  words',
  'words',
  '',
  '',
  '```',
  '> - [ ] q',
  '<!--',
  '-->',
  '<div>',
  '    code',
  '---',
  '- plain',
  '\t- [ ] tab',
);

costly(
  'whatever the plan: its lines stay in order, its tasks stay as they are, and the new one has its priority',
  () => {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 14 }),
        fc.constantFrom('high', 'medium', 'low', null),
        fc.boolean(),
        fc.constantFrom('', 'More.', '- [ ] sub\n\n<!--'),
        (lines, priority, isOptional, body) => {
          const plan = lines.join('\n');
          const added = add(plan, { priority, optional: isOptional, body });
          if (added.kind !== 'added') return;
          const after = parsePlan(PATH, added.text, optionalSections).tasks;
          const kept = (tasks: typeof after): readonly unknown[] =>
            tasks.map(({ task, state }) => [task.id, task.priority, task.optional, task.dependsOn, state]);
          expect(kept(after)).toEqual(expect.arrayContaining([...kept(parsePlan(PATH, plan, optionalSections).tasks)]));
          expect(after.find(({ task }) => task.id === added.id)).toMatchObject({
            state: 'todo',
            task: {
              title: 'New',
              optional: isOptional,
              ...(isOptional ? {} : { priority: { high: 1, medium: 2, low: 3 }[priority ?? 'medium'] }),
            },
          });
          const rest = added.text.split('\n');
          for (const one of plan.trim() === '' ? [] : plan.split('\n'))
            expect(rest.splice(0, rest.indexOf(one) + 1).at(-1)).toBe(one);
        },
      ),
      { numRuns: runs(300) },
    );
  },
);
