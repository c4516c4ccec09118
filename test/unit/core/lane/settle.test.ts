import { describe, expect, test } from 'vitest';
import { beginIteration, settleIteration } from '../../../../src/core/lane/settle/settle.ts';
import { recordDoneCommit } from '../../../../src/core/lane/settle/settle-published.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { Evidence } from '../../../../src/core/evidence.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { needsVerification } from '../../../../src/core/lane/verdict/verdict.ts';
import { analysis, evidence, HOUR, idle, noon, play, policy, progress, task, type Play } from '../core-fixtures.ts';

const finishes: Play['output'] = { signal: { status: 'COMPLETE', exitSignal: false } };
const working: Play['output'] = { signal: { status: 'IN_PROGRESS', exitSignal: false } };
const verifies = { ...policy, verifies: true };

/** Turns rows into a table: name, iteration, expected result. */
function named<Expected>(rows: readonly (readonly [string, Play, Expected])[]) {
  return rows.map(([name, iteration, expected]) => ({ name, iteration, expected }));
}

describe('progress is a change of content', () => {
  test.each(
    named([
      ['the agent commits and leaves a clean tree', { to: 'b' }, true],
      ['only new untracked files', { to: 'b', files: ['new.txt'] }, true],
      ['a timeout with changed files', { to: 'b', end: { kind: 'timeout', of: 'call' } }, true],
      ['a failed agent that changed files', { to: 'b', end: { kind: 'exited', code: 1 } }, true],
      ['a tree that was dirty before, an empty commit, a commit and its revert', {}, false],
      ['a claim without a change', { output: { signal: { filesModified: 3, tasksCompleted: 1 } } }, false],
    ]),
  )('$name: $expected', ({ iteration, expected }) => {
    expect(play([iteration]).verdicts[0]?.progress).toBe(expected);
  });
});

describe('a task is done when an iteration says so, its content changed, nothing contradicts it, and verify passes', () => {
  const rows: readonly (readonly [string, readonly Play[], typeof policy, boolean])[] = [
    ['STATUS COMPLETE', [progress({ output: finishes })], policy, true],
    ['TASKS_COMPLETED 1', [progress({ output: { signal: { tasksCompleted: 1, exitSignal: false } } })], policy, true],
    ['EXIT_SIGNAL true', [progress({ output: { signal: { exitSignal: true } } })], policy, true],
    ['a change without a claim', [progress({ output: working })], policy, false],
    ['TASKS_COMPLETED 0', [progress({ output: { signal: { tasksCompleted: 0 } } })], policy, false],
    ['a phrase only', [progress({ output: { completionIndicator: true } })], policy, false],
    ['a claim without any change', [{ output: finishes }], policy, false],
    ['a claim after an earlier change', [progress({ output: working }), { output: finishes }], policy, true],
    [
      'a change that was taken back before the claim',
      [
        { to: 'x', output: working },
        { to: 'start', output: finishes },
      ],
      policy,
      false,
    ],
    ['verify passing', [progress({ output: finishes, verification: 'passed' })], verifies, true],
    ['verify failing', [progress({ output: finishes, verification: 'failed' })], verifies, false],
    ['verify not run', [progress({ output: finishes })], verifies, false],
    [
      'verify passed on this very content before',
      [progress({ output: working, verification: 'passed' }), { output: finishes }],
      verifies,
      true,
    ],
    [
      'verify failed on this very content before',
      [progress({ output: working, verification: 'failed' }), { output: finishes }],
      verifies,
      false,
    ],
    [
      'verify passed on other content before',
      [progress({ output: working, verification: 'passed' }), progress({ output: finishes })],
      verifies,
      false,
    ],
    [
      'TESTS PASSING against a failing verification',
      [progress({ output: { signal: { status: 'COMPLETE', testsStatus: 'PASSING' } }, verification: 'failed' })],
      policy,
      false,
    ],
    [
      'FILES_MODIFIED 2 without a change',
      [progress({ output: working }), { output: { signal: { status: 'COMPLETE', filesModified: 2 } } }],
      policy,
      false,
    ],
    [
      'a block in an output that a timeout cut off',
      [progress({ output: finishes, end: { kind: 'timeout', of: 'run' } })],
      policy,
      true,
    ],
  ];
  test.each(rows.map(([name, script, bounds, expected]) => ({ name, script, bounds, expected })))(
    '$name: $expected',
    ({ script, bounds, expected }) => {
      const { state, verdicts } = play(script, { policy: bounds });
      expect(verdicts.at(-1)?.taskDone).toBe(expected);
      expect(state.tasks['issue-1']?.state === 'finished').toBe(expected);
    },
  );

  test('what others changed in between is not its work', () => {
    const first = play([idle]);
    const { verdicts } = play([{ output: finishes }], { state: first.state, tree: 'merged' });
    expect(verdicts[0]?.taskDone).toBe(false);
  });

  test('its commit is recorded', () => {
    const { state } = play([progress({ output: finishes })]);
    expect(recordDoneCommit(state, ['issue-1'], 'abc').tasks['issue-1']).toMatchObject({
      state: 'finished',
      doneCommit: 'abc',
      attempts: 1,
    });
  });
});

describe('claims against evidence', () => {
  const rows: readonly (readonly [string, Play, number, number])[] = [
    ['nothing claimed, nothing changed', {}, 0, 0],
    ['files that are withheld, nothing claimed', progress({ withheld: ['.env'] }), 0, 0],
    ['work beside the work tree, nothing claimed', { beside: ['branch a'] }, 0, 0],
    ['work beside the work tree, nothing needed', { output: { signal: { tasksCompleted: 1 } }, beside: ['a'] }, 1, 0],
    ['work beside it and in it', progress({ output: { signal: { tasksCompleted: 1 } }, beside: ['a'] }), 0, 0],
    ['0 tasks and 0 files, nothing changed', { output: { signal: { tasksCompleted: 0, filesModified: 0 } } }, 0, 0],
    ['TESTS PASSING, not verified', progress({ output: { signal: { testsStatus: 'PASSING' } } }), 0, 0],
    [
      'TESTS PASSING, verification passed',
      progress({ output: { signal: { testsStatus: 'PASSING' } }, verification: 'passed' }),
      0,
      0,
    ],
    [
      'EXIT_SIGNAL true in an output without any other sign of completion, tasks open',
      { output: { completionIndicator: false, signal: { exitSignal: true } } },
      0,
      1,
    ],
    [
      'TESTS PASSING, verification failed',
      progress({ output: { signal: { testsStatus: 'PASSING' } }, verification: 'failed' }),
      1,
      0,
    ],
    ['TASKS_COMPLETED 3, nothing changed', { output: { signal: { tasksCompleted: 3 } } }, 0, 0],
    ['FILES_MODIFIED 3, nothing changed', { output: { signal: { filesModified: 3 } } }, 1, 0],
    [
      'both',
      { output: { signal: { tasksCompleted: 3, filesModified: 3, testsStatus: 'PASSING' } }, verification: 'failed' },
      2,
      0,
    ],
    ['EXIT_SIGNAL true, tasks open', { output: { signal: { exitSignal: true } } }, 0, 1],
    [
      'EXIT_SIGNAL true, tasks open, verification failed',
      { output: { signal: { exitSignal: true } }, verification: 'failed' },
      0,
      2,
    ],
    ['a completion phrase, tasks open', { output: { completionIndicator: true } }, 0, 1],
    ['the last task finished', progress({ output: { signal: { exitSignal: true } } }), 0, 0],
    [
      'honest work',
      progress({
        output: { signal: { status: 'IN_PROGRESS', exitSignal: false, filesModified: 1, tasksCompleted: 0 } },
      }),
      0,
      0,
    ],
  ];
  test.each(rows.map(([name, iteration, discrepancies, vetoes]) => ({ name, iteration, discrepancies, vetoes })))(
    '$name: $discrepancies discrepancies, $vetoes vetoes',
    ({ iteration, discrepancies, vetoes }) => {
      const [verdict] = play([iteration]).verdicts;
      expect(verdict?.discrepancies).toHaveLength(discrepancies);
      expect(verdict?.vetoes).toHaveLength(vetoes);
    },
  );

  test.each<[string, Play, RegExp, string]>([
    [
      'passing tests',
      progress({ output: { signal: { testsStatus: 'PASSING' } }, verification: 'failed' }),
      /TESTS_STATUS: PASSING, but the verification failed/,
      'discrepancy_tests',
    ],
    [
      'modified files',
      { output: { signal: { filesModified: 4 } } },
      /FILES_MODIFIED: 4, but no file content changed/,
      'discrepancy_no_change',
    ],
    [
      'modified files that are on another branch',
      { output: { signal: { filesModified: 1 } }, beside: ['branch feature', 'stash@{0}'] },
      /left work beside it, where it is not published: branch feature, stash@\{0\}\.$/,
      'work_beside',
    ],
    [
      'finished work with files that are withheld',
      progress({ output: { signal: { tasksCompleted: 1 } }, withheld: ['.env', 'a/key.pem'] }),
      /not in the branch: \.env, a\/key\.pem\.$/,
      'withheld',
    ],
    [
      'the end, tasks open',
      { output: { signal: { exitSignal: true, filesModified: 3 } } },
      /required tasks are open: 1/,
      'veto_open_tasks',
    ],
    [
      'the end, verification failed',
      progress({ output: { signal: { exitSignal: true } }, verification: 'failed' }),
      /done, but the verification fails/,
      'veto_verify',
    ],
  ])('a person reads what was claimed, the agent gets a hint: %s', (_, iteration, sentence, hint) => {
    const { verdicts, step } = play([iteration], {
      policy: { ...policy, verifies: iteration.verification !== undefined },
    });
    expect([...(verdicts[0]?.discrepancies ?? []), ...(verdicts[0]?.vetoes ?? [])].join('\n')).toMatch(sentence);
    expect(step.kind === 'iterate' ? step.hints : []).toContain(hint);
  });

  test('a file rewritten unchanged does not contradict the claim if a killed iteration had left it; without that, it does', () => {
    const begun = play([progress({ output: { signal: { status: 'IN_PROGRESS', exitSignal: false } } })]);
    const repeats: Play = {
      output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, filesModified: 1 } },
    };
    const [repeated] = play([repeats], {
      state: begun.state,
      tree: 'left by the one that was killed',
      now: begun.now,
    }).verdicts;
    expect(repeated).toMatchObject({ taskDone: true, discrepancies: [] });
    const [settled] = play([repeats], { state: begun.state, tree: begun.tree, now: begun.now }).verdicts;
    expect(settled).toMatchObject({ taskDone: false, discrepancies: [expect.stringContaining('FILES_MODIFIED')] });
  });

  test('they are reported in the next prompt, and those of a task only for that task', () => {
    const overruled = play([progress({ output: { signal: { exitSignal: true } }, verification: 'failed' })], {
      policy: verifies,
    });
    expect(overruled.step).toMatchObject({
      kind: 'iterate',
      hints: ['veto_open_tasks', 'veto_verify', 'verify_failed'],
    });
    const next = play([progress({ output: { signal: { exitSignal: true } } })], { tasks: [task(1), task(2)] });
    expect(next.step).toMatchObject({ kind: 'iterate', task: { id: 'issue-2' }, hints: ['veto_open_tasks'] });
  });
});

describe('questions', () => {
  test.each(
    named([
      ['a question and no change', { output: { question: true } }, true],
      ['the question tool was refused', { output: { denials: [{ tool: 'AskUserQuestion', command: null }] } }, true],
      ['a question and a change', progress({ output: { question: true } }), false],
      [
        'a question and a real denial',
        { output: { question: true, denials: [{ tool: 'Bash', command: 'docker ps' }] } },
        false,
      ],
      [
        'a question of a CLI that failed',
        { output: { question: true, agentError: { kind: 'server', text: 'x' } } },
        false,
      ],
      [
        'a question and an error',
        { output: { question: true, errors: [{ text: 'Error: x', fingerprint: 'x' }] } },
        false,
      ],
    ]),
  )('$name: $expected', ({ iteration, expected }) => {
    expect(play([iteration]).verdicts[0]?.questionOnly).toBe(expected);
  });

  test('the next prompt says that nobody can answer', () => {
    expect(play([{ output: { question: true } }]).step).toMatchObject({ hints: ['question', 'no_block'] });
  });
});

describe('work that must not be published is not done', () => {
  test('a claim that rests on withheld files is a discrepancy, and the next prompt names the way out', () => {
    const { verdicts, step } = play([
      progress({
        withheld: ['.github/workflows/ci.yml'],
        output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } },
      }),
    ]);
    expect(verdicts[0]).toMatchObject({
      taskDone: false,
      discrepancies: [expect.stringContaining('.github/workflows/ci.yml')],
    });
    expect(step).toMatchObject({ kind: 'iterate', hints: expect.arrayContaining(['withheld']) });
  });
});

describe('a claim while a file that the git server refused lies there as it was', () => {
  const refused = { times: 1, words: 'Push cannot contain secrets', files: ['src/config.ts'] };
  const begun = beginIteration(
    createInitialState('queue', noon),
    { taskId: 'issue-1', tree: 'a', agent: 'claude' },
    policy,
    noon,
  );
  const state: LaneState = {
    ...begun,
    tasks: { 'issue-1': { ...untouchedProgress, state: 'in-progress', attempts: 2, startedTree: 'a', refused } },
  };
  const after = (withheld: readonly string[], withheldHere: Evidence['withheldHere']) => {
    const facts = {
      task: task(1, { body: 'Write src/config.ts.' }),
      tasks: [task(1)],
      analysis: analysis(finishes),
      denials: [],
      evidence: { ...evidence('a', { to: 'b', withheld: [...withheld] }), withheldHere },
      startedAt: noon,
    };
    return settleIteration(state, facts, policy, noon + HOUR).verdict;
  };

  test.each<[string, Evidence['withheldHere']]>([
    ['an earlier iteration wrote it', []],
    ['this one wrote it again', [{ path: 'src/config.ts', why: 'the git server refused it', part: true }]],
  ])('is overruled, and it is not Ralph that keeps the file: %s', (_, withheldHere) => {
    expect(after(['src/config.ts'], withheldHere)).toMatchObject({
      taskDone: false,
      setAside: null,
      discrepancies: [expect.stringContaining('src/config.ts')],
    });
  });

  test('stands once the file is another one, whatever else is withheld', () => {
    expect(after(['dist/app.js'], [])).toMatchObject({ taskDone: true, discrepancies: [] });
  });
});

describe('a status block in a code fence is not a signal, and the next prompt says why', () => {
  test.each(
    named([
      ['nothing but the fenced block', progress({ fencedBlock: true }), ['fenced_block']],
      ['no block at all', progress(), ['no_block']],
      ['a block that counts', progress({ output: { signal: { status: 'IN_PROGRESS' } } }), []],
      ['a call that was cut off', progress({ fencedBlock: true, end: { kind: 'timeout', of: 'call' } }), ['timeout']],
    ]),
  )('$name: $expected', ({ iteration, expected }) => {
    expect(play([iteration]).step).toMatchObject({ kind: 'iterate', hints: expected });
  });
});

describe('the next prompt says what went wrong', () => {
  const outputs = (change: Play['output']): Play['output'] => ({
    ...change,
    signal: { status: 'IN_PROGRESS', ...change?.signal },
  });
  test.each(
    named([
      [
        'a refused command',
        { output: outputs({ denials: [{ tool: 'Bash', command: 'docker ps' }] }) },
        ['denied', 'no_change'],
      ],
      [
        'a refused compound of allowed commands',
        progress({ output: outputs({ denials: [{ tool: 'Bash', command: 'npm ci && npm test' }] }) }),
        ['compound'],
      ],
      [
        'a field that could not be read',
        progress({ output: outputs({ signal: { unreadable: ['STATUS'] } }) }),
        ['unreadable'],
      ],
      ['no change', { output: outputs({}) }, ['no_change']],
      ['files that are withheld', progress({ output: outputs({}), withheld: ['.env'] }), ['withheld']],
      [
        'a CLI that failed by itself: nothing that the agent could mend',
        { output: { agentError: { kind: 'server', text: 'API Error: 500' } } },
        [],
      ],
    ]),
  )('$name: $expected', ({ iteration, expected }) => {
    expect(play([iteration]).step).toMatchObject({ kind: 'iterate', hints: expected });
  });

  test('what concerns a finished task is not said of the next one', () => {
    expect(
      play([progress({ output: finishes, end: { kind: 'timeout', of: 'call' } })], { tasks: [task(1), task(2)] }).step,
    ).toMatchObject({ task: { id: 'issue-2' }, hints: [] });
  });
});

describe('what is not the agent’s doing', () => {
  test.each<[string, Play]>([
    ['a usage limit', { output: { usageLimit: { window: 'weekly', resumeAt: null } } }],
    ["the run's own deadline", { end: { kind: 'timeout', of: 'run' } }],
    ['a cancel', { end: { kind: 'cancelled' } }],
    ['a wrong key', { output: { agentError: { kind: 'auth', text: 'x' } } }],
  ])('%s leaves circuit, signals and attempts as they were', (_, iteration) => {
    const before = play([idle, { output: { signal: { status: 'BLOCKED' } } }]);
    const after = play([iteration], { state: before.state, tree: before.tree });
    expect(after.state.circuit).toEqual(before.state.circuit);
    expect(after.state.signals).toEqual(before.state.signals);
    expect(after.state.tasks['issue-1']?.attempts).toBe(before.state.tasks['issue-1']?.attempts);
  });

  test('progress counts anyway', () => {
    const before = play([idle, idle]);
    const after = play([progress({ end: { kind: 'timeout', of: 'run' } })], { state: before.state, tree: before.tree });
    expect(after.state.circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
  });

  test.each([
    ['server', { kind: 'exited', code: 1 }],
    ['rate-limit', { kind: 'exited', code: 1 }],
    ['server', { kind: 'stalled' }],
  ] as const)('a provider that fails (%s, %o) costs the task no attempt, but feeds the circuit', (kind, end) => {
    const down: Play = { output: { agentError: { kind, text: 'API Error: 500' } }, end };
    const { state, step } = play([down, down, down]);
    expect(state.tasks['issue-1']?.attempts).toBe(0);
    expect(step).toMatchObject({ outcome: { reason: 'circuit_open' } });
  });

  test('an idle iteration is an attempt, and its content is not verified', () => {
    const { state } = play([idle]);
    expect(state.tasks['issue-1']?.attempts).toBe(1);
    expect(state.lastIteration).toMatchObject({ verification: 'not-run' });
  });
});

describe('beginning an iteration', () => {
  const begun = beginIteration(
    createInitialState('queue', noon),
    { taskId: 'issue-1', tree: 'a', agent: 'claude' },
    policy,
    noon,
  );

  test('charges the call at its start', () => {
    expect(begun.windows.hour).toEqual({ openedAt: noon, calls: 1, tokens: 0 });
    expect(begun.ledger).toEqual([{ day: '2026-11-21', calls: 1, tokens: 0, costUsd: 0, minutes: 0 }]);
  });

  test('puts the task in progress and remembers the tree that it started from', () => {
    expect(begun.tasks['issue-1']).toEqual({
      state: 'in-progress',
      attempts: 1,
      startedTree: 'a',
      doneCommit: null,
      reason: null,
      setAside: null,
    });
    expect(begun.currentTask).toBe('issue-1');
    const changed: LaneState = play([progress({ output: working })], { tree: 'a' }).state;
    expect(
      beginIteration(changed, { taskId: 'issue-1', tree: 'b', agent: 'claude' }, policy, noon).tasks['issue-1'],
    ).toMatchObject({ attempts: 2, startedTree: 'a' });
  });

  test('ends a park', () => {
    const parked: LaneState = {
      ...createInitialState('queue', noon),
      park: { reason: 'usage_limit', resumeAt: noon, taskId: null, branchHead: null },
    };
    expect(beginIteration(parked, { taskId: 'issue-1', tree: 'a', agent: 'claude' }, policy, noon).park).toBeNull();
  });
});

describe('a limit of the provider parks', () => {
  const at = (hours: number): string => new Date(noon + hours * HOUR).toISOString();
  const parkedBefore: LaneState = {
    ...createInitialState('queue', noon),
    lastRun: { outcome: 'parked', reason: 'usage_limit', at: noon - 6 * HOUR, published: null },
  };

  test.each<[string, NonNullable<NonNullable<Play['output']>['usageLimit']>, LaneState | null, number]>([
    ['two signs: as long as it says', { window: 'weekly', resumeAt: at(100) }, null, 100],
    ['one sign: six hours', { window: 'weekly', resumeAt: at(100), unconfirmed: true }, null, 6],
    ['one sign of a shorter wait', { window: 'five-hour', resumeAt: at(5), unconfirmed: true }, null, 5],
    [
      'one sign, as in the run before: six hours again',
      { window: 'weekly', resumeAt: at(100), unconfirmed: true },
      parkedBefore,
      6,
    ],
    ['no instant', { window: 'weekly', resumeAt: null, unconfirmed: true }, null, 1],
  ])('%s', (_, usageLimit, before, hours) => {
    const { state } = play([{ output: { usageLimit }, minutes: 0 }], before === null ? {} : { state: before });
    expect(state.park).toMatchObject({ reason: 'usage_limit', resumeAt: noon + hours * HOUR });
  });
});

test("a call's usage is charged when it ends", () => {
  const { state } = play([progress({ minutes: 2, output: { tokens: 7, costUsd: 0.5 } })]);
  expect(state.windows).toEqual({
    hour: { openedAt: noon, calls: 1, tokens: 7 },
    day: { openedAt: noon, costUsd: 0.5 },
  });
  expect(state.ledger).toEqual([{ day: '2026-11-21', calls: 1, tokens: 7, costUsd: 0.5, minutes: 2 }]);
});

test.each<[string, boolean, LaneState, Play]>([
  ['changed content', true, createInitialState('queue', noon), { to: 'b' }],
  ['nothing changed, nothing claimed', false, createInitialState('queue', noon), {}],
  ['a claim on content that was never verified', true, createInitialState('queue', noon), { output: finishes }],
  [
    'a claim on content that passed',
    false,
    play([{ to: 'a', verification: 'passed' }], { policy: verifies }).state,
    { output: finishes },
  ],
  [
    'a claim on content that failed',
    true,
    play([{ to: 'a', verification: 'failed' }], { policy: verifies }).state,
    { output: finishes },
  ],
])('verify runs after %s: %o', (_, expected, state, iteration) => {
  const { before, after } = evidence('a', iteration);
  expect(
    needsVerification(
      state,
      { analysis: analysis(iteration.output), evidence: { before, after, checklist: null, doneMarker: null } },
      verifies,
    ),
  ).toBe(expected);
  expect(
    needsVerification(
      state,
      { analysis: analysis(iteration.output), evidence: { before, after, checklist: null, doneMarker: null } },
      policy,
    ),
  ).toBe(false);
});

test('settle is a function: the same arguments, the same answer, nothing touched', () => {
  const state = play([idle, progress({ output: working })]).state;
  const facts = {
    task: task(1),
    tasks: [task(1)],
    analysis: analysis(finishes),
    denials: [],
    evidence: evidence('a', { to: 'b' }),
    startedAt: noon,
  };
  const frozen = structuredClone({ state, facts });
  expect(settleIteration(state, facts, policy, noon + HOUR)).toEqual(
    settleIteration(state, facts, policy, noon + HOUR),
  );
  expect({ state, facts }).toEqual(frozen);
});
