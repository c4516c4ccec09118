import { describe, expect, test } from 'vitest';
import type { IssueState } from '../../../../src/core/tasks/dependencies.ts';
import type { TaskIssue } from '../../../../src/core/tasks/issue-task.ts';
import type { Task } from '../../../../src/core/tasks/task.ts';
import type { TextDependencies } from '../../../../src/core/tasks/text-dependencies.ts';
import {
  applyWaitAnswer,
  mayNameDependency,
  noWaitFacts,
  settleWaiting,
  type KnownDependency,
  type WaitFacts,
} from '../../../../src/core/tasks/waiting.ts';
import { issue, textDependencies } from './issues.ts';
import { task } from '../core-fixtures.ts';

const onGitHub = (number: number, state: IssueState = 'open', elsewhere: string | null = null): KnownDependency => ({
  number,
  state,
  elsewhere,
});
const upTo = (count: number, from = 1): readonly number[] => Array.from({ length: count }, (_, index) => from + index);

/** Settles which tasks wait in a queue with these issues and tasks from files. */
function settle(
  facts: WaitFacts,
  issues: readonly TaskIssue[],
  { done = [], fileTasks = [] }: { readonly done?: readonly string[]; readonly fileTasks?: readonly Task[] } = {},
) {
  return settleWaiting(facts, {
    tasks: [...issues.map(({ number }) => task(number)), ...fileTasks],
    issues: new Map(issues.map((one) => [one.number, one])),
    isDone: (id) => done.includes(id),
  });
}

/** Returns facts about issues: the dependencies in their texts, those of GitHub, and the state of other issues. */
function known(
  texts: Readonly<Record<number, Partial<TextDependencies>>>,
  dependencies: Readonly<Record<number, readonly KnownDependency[]>> = {},
  states: Readonly<Record<number, IssueState>> = {},
): WaitFacts {
  const byNumber = <T>(record: Readonly<Record<number, T>>) =>
    new Map(Object.entries(record).map(([number, value]) => [Number(number), value]));
  return {
    texts: new Map([...byNumber(texts)].map(([number, text]) => [number, textDependencies(text)])),
    dependencies: byNumber(dependencies),
    states: byNumber(states),
  };
}

const settled = (result: ReturnType<typeof settle>) => {
  if (result.kind !== 'settled') throw new Error(`asks for ${result.kind}`);
  return {
    waits: Object.fromEntries(result.tasks.map(({ id, dependsOn }) => [id, dependsOn])),
    obstacles: Object.fromEntries(
      result.tasks.filter(({ obstacle }) => obstacle !== null).map(({ id, obstacle }) => [id, obstacle]),
    ),
    warnings: result.warnings,
  };
};

describe('what must be found out first', () => {
  const blocked = issue(2, { blockedBy: 1 });
  const parent = issue(3, { openSubIssues: 2 });
  test.each<[string, ReturnType<typeof settle>, object]>([
    ['nothing without tasks', settle(noWaitFacts, []), { kind: 'settled', tasks: [], warnings: [] }],
    ['every text', settle(noWaitFacts, [issue(1), blocked]), { kind: 'texts', of: [issue(1), blocked] }],
    ['a text that is not known yet', settle(known({ 1: {} }), [issue(1), blocked]), { kind: 'texts', of: [blocked] }],
    [
      'then, of issues that wait for others on GitHub, which',
      settle(known({ 1: {}, 2: {}, 3: {} }), [issue(1), blocked, parent]),
      { kind: 'dependencies', of: [2, 3] },
    ],
    [
      'not those that are known',
      settle(known({ 2: {}, 3: {} }, { 2: [] }), [blocked, parent]),
      { kind: 'dependencies', of: [3] },
    ],
    [
      'then how the others stand that are not tasks',
      settle(known({ 1: { issues: [9, 2] }, 2: { issues: [8] } }), [issue(1), issue(2)]),
      { kind: 'states', of: [8, 9] },
    ],
    [
      'not those that are known',
      settle(known({ 1: { issues: [9, 8] } }, {}, { 8: 'closed' }), [issue(1)]),
      { kind: 'states', of: [9] },
    ],
    [
      'what an entry of a file waits for, if it is an issue',
      settle(noWaitFacts, [], {
        fileTasks: [task(1, { id: 'plan-a', source: { kind: 'plan', path: 'p', line: 1 }, dependsOn: ['issue-9'] })],
      }),
      { kind: 'states', of: [9] },
    ],
    [
      'nothing of a task that is done',
      settle(noWaitFacts, [issue(1), blocked], { done: ['issue-1', 'issue-2'] }),
      { kind: 'settled', warnings: [] },
    ],
  ])('%s', (_, result, expected) => {
    expect(result).toMatchObject(expected);
  });

  const many = upTo(31).map((number) => issue(number, { blockedBy: 1 }));
  const read = Object.fromEntries(many.map(({ number }) => [number, {}]));
  const asked = (count: number) => Object.fromEntries(upTo(count).map((number) => [number, []]));

  test.each([
    ['the first 30 of 31', asked(0), upTo(30)],
    ['one more after 29', asked(29), [30]],
  ])('GitHub is asked about 30 issues at most: %s', (_, dependencies, of) => {
    expect(settle(known(read, dependencies), many)).toEqual({ kind: 'dependencies', of });
  });

  test('behind these an issue waits, and that is reported', () => {
    expect(settled(settle(known(read, asked(30)), many))).toMatchObject({
      obstacles: { 'issue-31': 'unchecked' },
      warnings: [
        '1 more issue has dependencies or sub-issues on GitHub, beyond the 30 that one run asks about; it waits until those are done.',
      ],
    });
  });

  const others = known(
    { 1: { issues: upTo(60, 5_001) } },
    {},
    Object.fromEntries(upTo(960, 6_001).map((n) => [n, 'closed'])),
  );
  test('how 1,000 others stand is asked at most, of the rest it counts that they are open', () => {
    const question = settle(others, [issue(1)]);
    expect(question).toEqual({ kind: 'states', of: upTo(40, 5_001) });
    if (question.kind !== 'states') return;
    const found = new Map(question.of.map((number) => [number, 'closed'] as const));
    expect(settled(settle(applyWaitAnswer(others, { ...question, found }), [issue(1)])).waits).toEqual({
      'issue-1': upTo(20, 5_041).map((number) => `issue-${String(number)}`),
    });
  });

  test('nor when more than that are known, since GitHub said of them by itself', () => {
    const states = Object.fromEntries(upTo(1_001, 6_001).map((number) => [number, 'closed'] as const));
    expect(settled(settle(known({ 1: { issues: [7, 8] } }, {}, states), [issue(1)])).waits).toEqual({
      'issue-1': ['issue-7', 'issue-8'],
    });
  });
});

describe('a task waits for', () => {
  test.each<[string, WaitFacts, readonly string[]]>([
    ['what its text names', known({ 1: { issues: [2] } }), ['issue-2']],
    [
      'what GitHub says is open',
      known({ 1: {} }, { 1: [onGitHub(9), onGitHub(8, 'closed')] }, { 8: 'open', 9: 'open' }),
      ['issue-9'],
    ],
    ['both, each once', known({ 1: { issues: [2] } }, { 1: [onGitHub(2)] }), ['issue-2']],
    [
      'what is open in another repository, as GitHub says',
      known({ 1: {} }, { 1: [onGitHub(4, 'open', 'acme/api'), onGitHub(5, 'closed', 'acme/api')] }),
      ['elsewhere-acme.api.4'],
    ],
    ['nothing that is closed', known({ 1: { issues: [9] } }, {}, { 9: 'closed' }), []],
  ])('%s', (_, facts, expected) => {
    const texts = new Map([...facts.texts, [2, textDependencies({})] as const]);
    const { waits, obstacles, warnings } = settled(
      settle({ ...facts, texts }, [issue(1, { blockedBy: facts.dependencies.size }), issue(2)]),
    );
    expect({ waits, obstacles, warnings }).toEqual({
      waits: { 'issue-1': expected, 'issue-2': [] },
      obstacles: {},
      warnings: [],
    });
  });

  test('an entry of its file', () => {
    const entry = (id: string, dependsOn: readonly string[]) =>
      task(1, { id, source: { kind: 'plan', path: 'p', line: 1 }, dependsOn });
    const fileTasks = [entry('plan-a', ['plan-b']), entry('plan-b', [])];
    expect(settled(settle(noWaitFacts, [], { fileTasks }))).toMatchObject({
      waits: { 'plan-a': ['plan-b'], 'plan-b': [] },
      obstacles: {},
    });
  });

  test('nothing that is unknown, but then nobody works on it: a text that names more than 100 issues', () => {
    const facts = known({ 1: { issues: upTo(101, 1_001) }, 2: { issues: upTo(100, 1_001) } }, {}, {});
    const question = settle(facts, [issue(1), issue(2)]);
    expect(question).toEqual({ kind: 'states', of: upTo(100, 1_001) });
    if (question.kind !== 'states') return;
    const { waits, obstacles, warnings } = settled(
      settle(applyWaitAnswer(facts, { ...question, found: new Map() }), [issue(1), issue(2)]),
    );
    expect(waits['issue-1']).toEqual([]);
    expect(waits['issue-2']).toHaveLength(100);
    expect(obstacles).toEqual({ 'issue-1': 'unchecked' });
    expect(warnings).toEqual([
      '#1 names more than 100 issues to wait for, so Ralph does not work on it. Shorten the list.',
    ]);
  });

  test('an obstacle that is there stays', () => {
    const facts = known({ 1: { issues: upTo(101, 1_001) } });
    const result = settleWaiting(facts, {
      tasks: [task(1, { obstacle: 'needs-approval' })],
      issues: new Map([[1, issue(1)]]),
      isDone: () => false,
    });
    expect(settled(result).obstacles).toEqual({ 'issue-1': 'needs-approval' });
  });
});

describe('issues of other repositories that texts name are not checked, and that is reported', () => {
  test.each<[string, WaitFacts, readonly string[]]>([
    [
      'one',
      known({ 1: { elsewhere: ['acme/api#4'] }, 2: {} }),
      [
        "#1 names issues of other repositories (acme/api#4), which are not checked: use GitHub's own dependencies to make it wait.",
      ],
    ],
    [
      'two, each once',
      known({ 1: { elsewhere: ['acme/api#4'] }, 2: { elsewhere: ['acme/api#4', 'acme/web#5'] } }),
      [
        "#1, #2 name issues of other repositories (acme/api#4, acme/web#5), which are not checked: use GitHub's own dependencies to make them wait.",
      ],
    ],
    [
      'not those that GitHub knows of, in any case',
      known({ 1: { elsewhere: ['Acme/API#4'] }, 2: {} }, { 1: [onGitHub(4, 'closed', 'acme/Api')] }),
      [],
    ],
  ])('%s', (_, facts, warnings) => {
    expect(settled(settle(facts, [issue(1), issue(2)])).warnings).toEqual(warnings);
  });

  test('nor those of a task that is done', () => {
    const facts = known({ 1: { elsewhere: ['acme/api#4'] } });
    expect(settled(settle(facts, [issue(1)], { done: ['issue-1'] })).warnings).toEqual([]);
  });
});

describe('an answer', () => {
  test('of texts: one that was not found says nothing, and those before stay', () => {
    const before = known({ 1: { issues: [2] } });
    const answer = {
      kind: 'texts',
      of: [issue(3), issue(4)],
      found: new Map([[3, textDependencies({ issues: [5] })]]),
    } as const;
    expect(applyWaitAnswer(before, answer)).toEqual(known({ 1: { issues: [2] }, 3: { issues: [5] }, 4: {} }));
  });

  test('of dependencies: how those of this repository stand is known from then on', () => {
    const before = known({}, { 1: [] }, { 7: 'open', 8: 'open' });
    const list = [onGitHub(8, 'closed'), onGitHub(9), onGitHub(4, 'open', 'acme/api')];
    const answer = { kind: 'dependencies', of: [2, 3], found: new Map([[2, list]]) } as const;
    expect(applyWaitAnswer(before, answer)).toEqual(
      known({}, { 1: [], 2: list, 3: [] }, { 7: 'open', 8: 'closed', 9: 'open' }),
    );
  });

  test('of states: what GitHub says nothing of counts as open', () => {
    const before = known({}, {}, { 7: 'closed' });
    const answer = { kind: 'states', of: [8, 9], found: new Map([[8, 'missing' as const]]) } as const;
    expect(applyWaitAnswer(before, answer)).toEqual(known({}, {}, { 7: 'closed', 8: 'missing', 9: 'open' }));
  });
});

describe('a text may say that it waits for an issue', () => {
  test.each([
    'Depends on #12',
    'blocked by GH-4',
    'It BLOCKS gh-4',
    '- [ ] #12',
    '- [\t] https://github.test/acme/api/issues/4',
    'depends on https://github.test/acme/api/pull/4',
  ])('%j', (body) => {
    expect(mayNameDependency(body)).toBe(true);
  });

  test.each(['', '#12', 'Depends on it', 'depends on # 12', 'blocked by XGH-4', 'depends on issues/x', '- [x] #12'])(
    'not %j',
    (body) => {
      expect(mayNameDependency(body)).toBe(false);
    },
  );
});
