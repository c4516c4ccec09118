import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addToPlan } from '../../../../../src/core/tasks/files/plan-edit.ts';
import { mergePlans } from '../../../../../src/core/tasks/files/plan-merge.ts';
import { parsePlan } from '../../../../../src/core/tasks/files/plan.ts';
import { runs } from '../../../../runs.ts';
import { optionalSections } from '../../core-fixtures.ts';

const PATH = '.ralph/fix_plan.md';

function add(text: string, title: string, priority: 'high' | 'low' | null = null): string {
  const added = addToPlan({ path: PATH, text, optionalSections }, { title, body: '', priority, optional: false });
  return added.kind === 'added' ? added.text : text;
}

function tasksOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parsePlan(PATH, text, optionalSections).tasks.map(({ task, state }) => [task.title, state]),
  );
}

describe('a plan has the ticks and the additions of both sides', () => {
  test.each<[string, readonly [fork: string, lane: string, base: string], string]>([
    [
      'the last item is ticked, and one is added behind it',
      ['- [ ] a\n', '- [x] a\n', '- [ ] a\n- [ ] b\n'],
      '- [x] a\n- [ ] b\n',
    ],
    ['the same without a last line end', ['- [ ] a', '- [x] a', '- [ ] a\n- [ ] b'], '- [x] a\n- [ ] b'],
    [
      'the same with other line ends',
      ['- [ ] a\r\n', '- [x] a\r\n', '- [ ] a\r\n- [ ] b\r\n'],
      '- [x] a\r\n- [ ] b\r\n',
    ],
    ['both ticked', ['- [ ] a\n- [ ] b\n', '- [x] a\n- [ ] b\n', '- [ ] a\n- [X] b\n'], '- [x] a\n- [X] b\n'],
    [
      'both ticked the same one: with the marks of the lane',
      ['- [ ] a\n', '- [x] a ✅ 2026-11-26\n', '- [x] a\n'],
      '- [x] a ✅ 2026-11-26\n',
    ],
    ['both added', ['- [ ] a\n', '- [x] a\n- [ ] b\n', '- [ ] a\n- [ ] c\n'], '- [x] a\n- [ ] b\n- [ ] c\n'],
    ['both added the same', ['- [ ] a\n', '- [x] a\n- [ ] b\n', '- [ ] a\n- [ ] b\n'], '- [x] a\n- [ ] b\n'],
    [
      'a note below the ticked one stays with it',
      ['- [ ] a\n', '- [x] a\n  - Done by hand.\n', '- [ ] a\n- [ ] b\n'],
      '- [x] a\n  - Done by hand.\n- [ ] b\n',
    ],
    [
      'an item below an item stays with it',
      ['- [ ] a\n', '- [ ] a\n- [ ] b\n', '- [ ] a\n  - [ ] part\n'],
      '- [ ] a\n  - [ ] part\n- [ ] b\n',
    ],
    [
      'an item below a heading that is new stays with it',
      ['- [ ] a\n', '- [x] a\n\n## Optional\n\n- [ ] b\n', '- [ ] a\n- [ ] c\n'],
      '- [x] a\n- [ ] c\n\n## Optional\n\n- [ ] b\n',
    ],
  ])('%s', (_what, [fork, lane, base], merged) => {
    expect(mergePlans({ fork, lane, base })).toBe(merged);
  });

  test('whatever was ticked and added, and nothing is unticked', () => {
    const titles = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 3 });
    const heading = fc.constantFrom('', '# Plan\n\n', '# Plan\n\n## High Priority\n\n');
    const ticks = fc.array(fc.nat(4), { maxLength: 3 });
    const added = fc.array(fc.tuple(fc.constantFrom('p', 'q', 'r'), fc.constantFrom('high', 'low', null)), {
      maxLength: 2,
    });
    const side = fc.record({ ticks, added });
    fc.assert(
      fc.property(heading, titles, ticks, side, side, (head, items, done, ours, theirs) => {
        const fork = ticked(head + items.map((title) => `- [ ] ${title}\n`).join(''), done);
        const [lane, base] = [ours, theirs].map((one) =>
          one.added.reduce((text, [title, priority]) => add(text, title, priority), ticked(fork, one.ticks)),
        );
        const merged = mergePlans({ fork, lane: lane ?? '', base: base ?? '' });
        // An item that both put under different headings has no place that is right for both.
        fc.pre(merged !== null || ours.added.every(([title]) => !theirs.added.some(([other]) => other === title)));
        const sides = [tasksOf(lane ?? ''), tasksOf(base ?? '')];
        const wanted = { ...sides[0], ...sides[1] };
        for (const [title, state] of Object.entries(sides[0] ?? {})) if (state === 'done') wanted[title] = 'done';
        if (merged !== null) expect(tasksOf(merged)).toEqual(wanted);
      }),
      { numRuns: runs(300) },
    );
  });
});

function ticked(text: string, indices: readonly number[]): string {
  let index = -1;
  return text.replaceAll('[ ]', (box) => (indices.includes(++index) ? '[x]' : box));
}

test.each<[string, readonly [fork: string, lane: string, base: string]]>([
  ['an item was removed', ['- [ ] a\n- [ ] b\n', '- [x] a\n- [ ] b\n', '- [ ] a\n']],
  ['an item was reworded', ['- [ ] a\n', '- [x] a\n', '- [ ] another\n']],
  ['an item was reworded as it was ticked', ['- [ ] a\n', '- [x] a in another way\n', '- [ ] a\n- [ ] b\n']],
  ['an item was opened again', ['- [x] a\n', '- [x] a\n- [ ] b\n', '- [ ] a\n']],
  ['items were sorted', ['- [ ] a\n- [ ] b\n', '- [ ] b\n- [ ] a\n', '- [ ] a\n- [ ] b\n- [ ] c\n']],
  ['the same item has two texts', ['# Plan\n', '# Plan\n- [ ] a\n  - One.\n', '# Plan\n- [ ] a\n  - Two.\n']],
  ['both wrote below the same item', ['- [ ] a\n', '- [x] a\n  - One.\n', '- [ ] a\n  - Two.\n']],
  ['line ends differ', ['- [ ] a\n', '- [x] a\r\n', '- [ ] a\n- [ ] b\n']],
  ['a side is too long to be read', ['- [ ] a\n', '- [x] a\n', `- [ ] a\n${'\n'.repeat(5001)}- [ ] b\n`]],
])('a plan stays in conflict where %s', (_what, [fork, lane, base]) => {
  expect(mergePlans({ fork, lane, base })).toBeNull();
  expect(mergePlans({ fork, lane: base, base: lane })).toBeNull();
});
