import { describe, expect, test } from 'vitest';
import {
  listUnverifiedTasks,
  hasUnrunnableCommand,
  buildVerificationRecord,
  buildVerificationSubject,
  listVerifiedTasks,
  matchesVerification,
  recordHeadVerification,
  settleFinished,
  reopenTasks,
  listTasksHeldByOthers,
} from '../../../../src/core/lane/verification.ts';
import { EMPTY_SHARE } from '../../../../src/core/lane/change.ts';
import type { Verification } from '../../../../src/core/evidence.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';

const NOW = 1_795_000_000_000;
const subject = { commit: 'c0ffee', commands: 'abc' };
const failed = (code: number | null, tail: string): Verification => ({
  kind: 'failed',
  command: 'npm test',
  code,
  tail,
  durationMs: 5,
});

describe('a verification in a clean clone, as the state keeps it', () => {
  test.each<[Verification, object | null]>([
    [{ kind: 'not-run' }, null],
    [
      { kind: 'passed', durationMs: 5 },
      { ...subject, kind: 'passed', command: null, exitCode: 0 },
    ],
    [failed(1, ''), { ...subject, kind: 'failed', command: 'npm test', exitCode: 1 }],
    [failed(null, '(took too long)'), { ...subject, kind: 'failed', command: 'npm test', exitCode: null }],
    [
      { kind: 'failed', command: 'x'.repeat(201), code: 1, tail: '', durationMs: 5 },
      { ...subject, kind: 'failed', command: 'x'.repeat(200), exitCode: 1 },
    ],
  ])('%j', (verification, check) => {
    expect(buildVerificationRecord(subject, verification)).toEqual(check);
  });

  test.each([
    [subject, true],
    [{ ...subject, commit: 'other' }, false],
    [{ ...subject, commands: 'other' }, false],
  ])('is known for the same commit and the same commands: %j → %s', (asked, known) => {
    expect(matchesVerification(buildVerificationRecord(subject, { kind: 'passed', durationMs: 1 }), asked)).toBe(known);
    expect(matchesVerification(null, asked)).toBe(false);
  });
});

test('a check is about a commit and the hash of all commands, one a line', () => {
  const sha256 = (text: string): string => text.padEnd(64, '0');
  expect(buildVerificationSubject(['npm ci', 'npm test'], { commit: 'c0ffee', sha256 })).toEqual({
    commit: 'c0ffee',
    commands: 'npm ci\nnpm test'.padEnd(32, '0'),
  });
});

test.each<[Verification, boolean]>([
  [failed(127, 'bash: line 1: vitest: command not found'), true],
  [failed(126, 'bash: ./check: Permission denied'), true],
  [failed(1, 'npm error Missing script: "test"'), true],
  [failed(1, ' ERR_PNPM_NO_SCRIPT  Missing script: test'), true],
  [failed(1, 'npm error The `npm ci` command can only install with an existing package-lock.json'), true],
  [failed(1, ' ERR_PNPM_NO_PKG_MANIFEST  No package.json found in /x'), true],
  [failed(1, ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"'), false],
  [failed(101, 'error: could not find `Cargo.toml` in `/x` or any parent directory'), true],
  [failed(1, 'go: go.mod file not found in current directory or any parent directory'), true],
  [failed(10, 'Could not locate Gemfile or .bundle/ directory'), true],
  [failed(1, 'MSBUILD : error MSB1003: Specify a project or solution file.'), true],
  [failed(1, 'error Command "test" not found.'), true],
  [failed(1, 'error: Script not found "test"'), true],
  [failed(2, "make: *** No rule to make target 'check'.  Stop."), true],
  [failed(1, '/usr/bin/python3: No module named pytest'), true],
  [failed(101, 'error: no such command: `nextest`'), true],
  [failed(1, 'Unknown command: "tset"\n\nDid you mean this?\n  npm test # Run the "test" script'), true],
  [failed(1, 'npm error Unknown command: "tset"'), true],
  [failed(2, 'sh: 0: cannot open missing.sh: No such file'), true],
  [failed(2, "sh: 0: Can't open missing.sh"), true],
  [failed(1, 'bash: line 1: cd: app: No such file or directory'), true],
  [failed(1, 'bash: line 1: ./setup.sh: No such file or directory'), true],
  [failed(1, 'cat: data.csv: No such file or directory'), false],
  [failed(254, 'npm error enoent Could not read package.json: Error: ENOENT: no such file'), true],
  [failed(1, "Could not find '/w/missing.test.js'"), true],
  [failed(1, "git: 'tset' is not a git command. See 'git --help'."), true],
  [failed(2, "sh: can't open 'missing.sh': No such file or directory"), true],
  [failed(127, 'bash: missing.sh: No such file or directory'), true],
  [
    failed(2, "python3: can't open file '/home/runner/work/shop/missing.py': [Errno 2] No such file or directory"),
    true,
  ],
  [failed(2, "/usr/bin/python3.12: can't open file 'missing.py'"), true],
  [failed(1, '/usr/bin/python3: No module named pytst'), true],
  [
    failed(
      1,
      "Error: Cannot find module '/w/missing.js'\n    at Module._resolveFilename\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}",
    ),
    true,
  ],
  [
    failed(
      1,
      "Error: Cannot find module './helper'\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/w/test/a.js' ]\n}",
    ),
    false,
  ],
  [failed(4, 'ERROR: file or directory not found: tests/unit'), true],
  [failed(1, "Task 'tset' not found in root project 'shop'."), true],
  [failed(2, "go tset: unknown command\nRun 'go help' for usage."), true],
  [failed(1, '** (Mix) The task "tset" could not be found'), true],
  [failed(1, 'Could not open input file: missing.php'), true],
  [failed(2, 'error: Failed to spawn: `pytst`'), true],
  [failed(1, '  Command "tset" is not defined.'), true],
  [failed(1, "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"), false],
  [failed(1, 'AssertionError: expected 1 to be 2'), false],
  [failed(1, "ModuleNotFoundError: No module named 'shop'"), false],
  [failed(null, '(took too long)'), false],
  [{ kind: 'passed', durationMs: 1 }, false],
  [{ kind: 'not-run' }, false],
])('a command that cannot run at all says nothing of the code: %j → %s', (verification, expected) => {
  expect(hasUnrunnableCommand(verification)).toBe(expected);
});

describe('the verification of the published head', () => {
  const task = { attempts: 1, startedTree: 'a', doneCommit: 'b', reason: null, setAside: null };
  const state: LaneState = {
    ...createInitialState('queue', NOW),
    signals: { ...createInitialState('queue', NOW).signals, doneInARow: 2 },
    tasks: { 'issue-1': { ...task, state: 'done' }, 'issue-2': { ...task, state: 'finished' } },
    lastIteration: { taskId: 'issue-2', progress: true, fileCount: 1, tree: 't', verification: 'passed', hints: [] },
  };
  const passed = buildVerificationRecord(subject, { kind: 'passed', durationMs: 1 });
  const red = buildVerificationRecord(subject, failed(1, 'x'));
  if (passed === null || red === null) throw new Error('no check');
  const fails = (of: LaneState): LaneState => recordHeadVerification(of, { record: red, finished: ['issue-2'] }, NOW);
  const passes = (of: LaneState): LaneState => recordHeadVerification(of, { record: passed, finished: [] }, NOW);
  const withShares = (of: LaneState): LaneState => ({
    ...of,
    change: { ...of.change, tasks: { 'issue-1': EMPTY_SHARE, 'issue-2': EMPTY_SHARE } },
  });

  test('is about the tasks that are finished', () => {
    expect(listVerifiedTasks(state, false)).toEqual(['issue-2']);
    const more: LaneState = { ...state, tasks: { ...state.tasks, 'issue-3': { ...task, state: 'in-progress' } } };
    expect(listVerifiedTasks(more, true)).toEqual(['issue-2']);
  });

  test('is about all tasks of the branch that are done, where a complete lane has finished none', () => {
    const before = withShares(passes(state));
    expect(listVerifiedTasks(before, false)).toEqual([]);
    expect(listVerifiedTasks(before, true)).toEqual(['issue-1', 'issue-2']);
  });

  test('is not about what is answered with the reason why nothing changes', () => {
    const answered: LaneState = {
      ...state,
      tasks: { 'thread-7': { ...task, state: 'finished' } },
      feedback: {
        ...state.feedback,
        items: { 'thread-7': { kind: 'thread', title: 'a', url: null, rounds: 1, asked: '7', answer: unchanged } },
      },
    };
    expect(listVerifiedTasks(answered, false)).toEqual([]);
    expect(settleFinished(answered, false, NOW).tasks['thread-7']?.state).toBe('done');
  });

  test('that never came leaves nothing done', () => {
    const open = settleFinished(state, false, NOW);
    expect(open.tasks).toMatchObject({
      'issue-1': { state: 'done' },
      'issue-2': { state: 'in-progress', doneCommit: null, reason: null, setAside: null, unproven: true },
    });
    expect(open.transitions.at(-1)).toMatchObject({
      from: 'issue-2 finished',
      to: 'in-progress',
      reason: 'not_verified',
    });
    expect(settleFinished(open, false, NOW)).toEqual(open);
  });

  test('that need not come makes done what is finished, and nothing else', () => {
    const open = fails({ ...state, tasks: { ...state.tasks, 'issue-3': { ...task, state: 'finished' } } });
    const settled = settleFinished(open, true, NOW);
    expect(settled.tasks).toMatchObject({
      'issue-2': { state: 'in-progress', unproven: true },
      'issue-3': { state: 'done', doneCommit: 'b' },
    });
    expect(settled.transitions.at(-1)).toMatchObject({ from: 'issue-3 finished', to: 'done', reason: 'done' });
  });

  test('that passes makes done what is finished, and changes nothing else', () => {
    const { tasks, transitions, ...rest } = passes(state);
    expect(rest).toEqual({ ...state, headVerification: passed, tasks: undefined, transitions: undefined });
    expect(tasks).toEqual({ 'issue-1': state.tasks['issue-1'], 'issue-2': { ...task, state: 'done' } });
    expect(transitions).toEqual([
      { at: NOW, subject: 'task', from: 'issue-2 finished', to: 'done', reason: 'verified' },
    ]);
  });

  test('that fails opens them again, with a word for the next prompt', () => {
    const marked: LaneState = {
      ...state,
      tasks: { ...state.tasks, 'issue-2': { ...task, state: 'finished', unmarked: true } },
    };
    const after = fails(marked);
    expect(after).toMatchObject({
      headVerification: red,
      currentTask: 'issue-2',
      signals: { doneInARow: 0 },
      tasks: {
        'issue-1': { state: 'done' },
        'issue-2': { state: 'in-progress', doneCommit: null, attempts: 1, unproven: true },
      },
      lastIteration: { verification: 'failed', hints: ['clean_check'] },
    });
    expect(after.tasks['issue-2']?.unmarked).toBeUndefined();
    expect(after.transitions.at(-1)).toMatchObject({
      subject: 'task',
      from: 'issue-2 finished',
      to: 'in-progress',
      reason: 'not_verified',
    });
  });

  test('that passes later makes them done: no call is made or counted for it', () => {
    expect(listUnverifiedTasks(fails(state))).toEqual(['issue-2']);
    const later = passes(fails(state));
    expect(later).toMatchObject({
      headVerification: passed,
      currentTask: null,
      tasks: { 'issue-2': { state: 'done', attempts: 1, doneCommit: passed.commit, reason: null } },
    });
    expect(later.transitions.at(-1)).toMatchObject({
      subject: 'task',
      from: 'issue-2 in-progress',
      to: 'done',
      reason: 'verified',
    });
    expect(listUnverifiedTasks(later)).toEqual([]);
  });

  test.each(['stuck', 'failed', 'blocked'] as const)(
    'that passes does so as well for one that is %s by now',
    (given) => {
      const { tasks, ...rest } = fails(state);
      const setAside = { ...task, state: given, reason: 'no_progress', setAside: { times: 1, at: NOW } } as const;
      const later = passes({ ...rest, tasks: { ...tasks, 'issue-2': { ...setAside, unproven: true } } });
      expect(later.tasks['issue-2']).toMatchObject({ state: 'done', reason: null, setAside: null });
    },
  );

  test('leaves what is half done the current task', () => {
    expect(fails({ ...state, currentTask: 'issue-3' }).currentTask).toBe('issue-3');
    expect(passes({ ...fails(state), currentTask: 'issue-3' }).currentTask).toBe('issue-3');
  });

  test('that fails again opens what the last one made done, where it decides on that', () => {
    const again = fails(passes(fails(state)));
    expect(listUnverifiedTasks(again)).toEqual(['issue-2']);
    expect(again.tasks['issue-2']).toMatchObject({ state: 'in-progress', doneCommit: null });
  });

  test('that fails without a finished task only resets what the agent signalled', () => {
    const after = recordHeadVerification({ ...state, lastIteration: null }, { record: red, finished: [] }, NOW);
    expect(after).toMatchObject({
      tasks: state.tasks,
      currentTask: null,
      signals: { doneInARow: 0 },
      lastIteration: null,
    });
  });

  test('never makes done what people took back', () => {
    const withdrawn = reopenTasks(state, ['issue-2'], { reason: 'withdrawn', now: NOW });
    expect(withdrawn).toMatchObject({
      currentTask: null,
      tasks: { 'issue-2': { state: 'in-progress', doneCommit: null } },
    });
    expect(listUnverifiedTasks(withdrawn)).toEqual([]);
  });
});

const unchanged = {
  kind: 'unchanged',
  commit: null,
  words: 'It is so already.',
  isOurs: false,
  at: NOW,
  posted: false,
} as const;

describe('no call helps a task that awaits a verification of the head', () => {
  const progress = (state: TaskProgress['state'], attempts = 1): TaskProgress => ({
    state,
    attempts,
    startedTree: null,
    doneCommit: null,
    reason: null,
    setAside: null,
  });
  test.each<[string, TaskProgress, number | null, boolean]>([
    ['while another one that was begun is not done and verify fails', progress('in-progress'), 3, true],
    ['also where that one waits for a person', progress('blocked'), 3, true],
    ['but where verify passes', progress('in-progress'), null, false],
    ['but where the other one was not begun', progress('todo', 0), 3, false],
    ['but where the other one is done', progress('done'), 3, false],
  ])('%s', (_, other, failingSince, waits) => {
    const blank = createInitialState('queue', NOW);
    const state: LaneState = {
      ...blank,
      tasks: { 'issue-1': other, 'issue-2': { ...progress('in-progress'), unproven: true } },
      change: { ...blank.change, failingSince },
    };
    const tasks = ['issue-1', 'issue-2'].map((id) => ({
      id,
      priority: 3,
      dependsOn: [],
      optional: false,
      obstacle: null,
    }));
    expect(listTasksHeldByOthers(state, tasks)).toEqual(waits ? ['issue-2'] : []);
    expect(listTasksHeldByOthers(state, tasks.slice(1))).toEqual([]);
  });
});
