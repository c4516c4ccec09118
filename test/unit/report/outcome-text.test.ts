import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/core/outcome.ts';
import { suggestNextSteps } from '../../../src/report/next/for-run.ts';
import { renderSteps } from '../../../src/report/next/step.ts';
import { nameOutcome } from '../../../src/report/sentences/ends/outcome-name.ts';
import { describeOutcome, renderHeadline } from '../../../src/report/sentences/outcome-text.ts';
import { createLanelessReport, type WorkedReport, type TaskReport } from '../../../src/handover/report.ts';
import type { TaskObstacle } from '../../../src/core/tasks/task.ts';
import { END, entry, OUTCOMES, planTask, prdTask, report, taskReport } from './fixtures.ts';
import { record } from '../core/pipeline/pipeline-fixtures.ts';

const inMinutes = (minutes: number) => END + minutes * 60_000;
const onIssueLane: Partial<WorkedReport> = { lane: 'issue-12', branch: 'ralph/issue-12' };
const denied = [
  entry(1, {
    analysis: {
      denials: [
        { tool: 'Bash', command: 'docker ps' },
        { tool: 'WebFetch', command: null },
      ],
    },
  }),
];

function withObstacle(number: number, obstacle: TaskObstacle): TaskReport {
  const { task, ...others } = taskReport(number);
  return { task: { ...task, obstacle }, ...others };
}

function dependent(number: number, dependsOn: readonly string[]): TaskReport {
  const { task, ...others } = taskReport(number);
  return { task: { ...task, dependsOn }, ...others };
}

test.each<readonly [string, Outcome, Partial<WorkedReport>, string, string]>([
  [
    'one task done',
    { kind: 'complete', reason: 'plan_complete' },
    { tasks: [taskReport(12, { state: 'done' })] },
    'The task is done.',
    'Review the pull request and merge it.',
  ],
  [
    'one task done, and checks that do not start',
    { kind: 'complete', reason: 'plan_complete' },
    {
      tasks: [taskReport(12, { state: 'done' })],
      checks: { counts: null, alsoOnBase: [], flaky: [], waiting: [], unstarted: true, unreadable: null, runs: 0 },
    },
    'The task is done.',
    'Start the checks, which have not run',
  ],
  [
    'all tasks done',
    { kind: 'complete', reason: 'plan_complete' },
    { tasks: [taskReport(12, { state: 'done' }), taskReport(13, { state: 'done' })] },
    '#12 and #13 are done.',
    'Review the pull request and merge it.',
  ],
  ['done signals name how many', { kind: 'complete', reason: 'completion_signals' }, {}, '2 times in a row', 'Review'],
  [
    'a cancelled run names what is kept',
    { kind: 'cancelled', reason: 'signal' },
    {},
    'after 1 finished iteration',
    'is on `ralph/queue`',
  ],
  [
    'a cancelled run with nothing published promises nothing',
    { kind: 'cancelled', reason: 'signal' },
    { headSha: null },
    'cancelled',
    'To continue, re-run the workflow.',
  ],
  [
    'a killed run says what is lost',
    { kind: 'cancelled', reason: 'killed' },
    {},
    'the iteration that was running is lost',
    "lower `max-minutes` or raise the job's `timeout-minutes`",
  ],
  [
    'a denial names the tools',
    { kind: 'halted', reason: 'permission_denied' },
    { iterations: denied },
    '`Bash: docker ps`, `WebFetch`',
    '`allowed-tools`',
  ],
  [
    'an open circuit: why, until when, how to reset',
    {
      kind: 'halted',
      reason: 'circuit_open',
      circuitReason: 'no_progress',
      tripped: 'this-run',
      probeAt: inMinutes(30),
    },
    {},
    '`circuit-no-progress` is 3',
    'after 2026-11-21 16:48 UTC (in 30 min)',
  ],
  [
    'an open circuit can be closed at once',
    {
      kind: 'halted',
      reason: 'circuit_open',
      circuitReason: 'same_error',
      tripped: 'this-run',
      probeAt: inMinutes(30),
    },
    {},
    '`circuit-same-error` is 5',
    'comment `/ralph retry`',
  ],
  [
    'a cooling circuit says that no call was made',
    {
      kind: 'halted',
      reason: 'circuit_open',
      circuitReason: 'permission_denied',
      tripped: 'earlier',
      probeAt: inMinutes(5),
    },
    { iterations: [] },
    'No call was made',
    '(in 5 min)',
  ],
  [
    'a blocked run names the tasks and what each waits for',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [taskReport(1, { state: 'blocked' }), planTask(7, { state: 'failed', attempts: 8 }), taskReport(3)] },
    '2 tasks need a person. ✅ `npm test` passes.\n- #1 (Task 1): the agent cannot continue without a person.\n- .ralph/fix_plan.md:7 (Task 7): gave up after 8 iterations',
    "Answer the agent in the task's text or in a comment on its issue; make the task smaller or clearer; then comment `/ralph retry` on the pull request.",
  ],
  [
    'what another branch asks',
    { kind: 'blocked', reason: 'needs_human' },
    {
      tasks: [
        { ...taskReport(1, { state: 'blocked' }), asked: 'https://github.com/acme/shop/issues/1#issuecomment-41' },
        {
          ...taskReport(2, { state: 'failed', attempts: 2 }),
          asked: 'https://github.com/acme/shop/issues/2#issuecomment-42',
        },
      ],
    },
    '#1 (Task 1): the agent cannot continue without a person. See https://github.com/acme/shop/issues/1#issuecomment-41\n- #2 (Task 2): gave up after 2 iterations. See https://github.com/acme/shop/issues/2#issuecomment-42',
    'comment `/ralph retry` on the pull request',
  ],
  [
    'what only failed has asked nothing',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [planTask(7, { state: 'failed', attempts: 8 })] },
    '',
    'Make the task smaller or clearer, or say what the agent should know: below the title in `.ralph/fix_plan.md:7` (another title makes it another task). If it only needs more iterations, raise `max-iterations-per-task`. Then comment `/ralph retry` on the pull request: the task gets all its iterations again.',
  ],
  [
    'what failed because `verify` did',
    { kind: 'blocked', reason: 'needs_human' },
    {
      tasks: [taskReport(7, { state: 'failed', attempts: 8 })],
      pullRequest: null,
      iterations: [
        entry(1, {
          taskNumber: 7,
          verification: { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 },
        }),
      ],
    },
    '',
    'see what it printed, and fix it if it cannot pass. Make the task smaller or clearer, then reply on #7 with one comment: first line `/ralph retry`, below it what the agent should know.',
  ],
  [
    'what failed without a thread to comment in',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [planTask(7, { state: 'failed', attempts: 8 })], pullRequest: null },
    '',
    'Then run the workflow by hand with the command `retry`:',
  ],
  [
    'what an earlier Ralph failed is not what Ralph gave up',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [prdTask('T1', { state: 'failed' }), prdTask('T2', { state: 'blocked' })], pullRequest: null },
    '- T1 (Build T1): marked as failed in `.ralph/prd.json` by an earlier Ralph\n- T2 (Build T2): marked as blocked in `.ralph/prd.json`',
    'To try them, run the workflow by hand with the command `retry`.',
  ],
  [
    'one that an earlier Ralph failed, where there is a pull request',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [prdTask('T1', { state: 'failed' })] },
    '',
    'To try it, comment `/ralph retry prd-T1` on the pull request.',
  ],
  [
    'what an earlier Ralph failed beside what Ralph gave up',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [prdTask('T1', { state: 'failed' }), prdTask('T2', { state: 'failed', attempts: 8 })] },
    'T2 (Build T2): gave up after 8 iterations',
    'Make the task smaller or clearer; then comment `/ralph retry` on the pull request.',
  ],
  [
    'tasks that wait for others only',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [dependent(1, ['issue-99', 'elsewhere-other.my.repo-x.4'])] },
    '- #1 (Task 1): it depends on #99, other/my.repo-x#4, not done yet',
    'To have Ralph work on what they wait for, put the label `ralph` on #99; or close it; what is in another repository must be closed there, or remove the dependency; the next run looks again.',
  ],
  [
    "an issue's own lane that waits for another repository",
    { kind: 'blocked', reason: 'needs_human' },
    { ...onIssueLane, tasks: [dependent(12, ['elsewhere-other.repo.4'])] },
    'other/repo#4',
    'What they wait for is in another repository: close it there, or remove the dependency; then comment `/ralph run` on the issue.',
  ],
  [
    'a blocked run whose tasks only wait for people',
    { kind: 'blocked', reason: 'needs_human' },
    {
      tasks: [
        withObstacle(1, 'needs-approval'),
        withObstacle(2, 'dependency-cycle'),
        dependent(3, ['issue-1', 'issue-99']),
      ],
    },
    '3 tasks need a person. ✅ `npm test` passes.\n- #1 (Task 1): its text was changed after it was approved: add the label, or remove and re-add it\n- #2 (Task 2): it depends on a task that depends on it\n- #3 (Task 3): it depends on #1, #99, not done yet',
    'Do what each line says',
  ],
  [
    'a blocked run names five tasks',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [1, 2, 3, 4, 5, 6, 7].map((number) => withObstacle(number, 'dependency-unknown')) },
    '- #5 (Task 5): what it depends on does not exist\n- … and 2 more',
    'Do what each line says',
  ],
  [
    'a blocked run without a blocked task',
    { kind: 'blocked', reason: 'needs_human' },
    { tasks: [taskReport(1)] },
    'The agent says that it cannot continue',
    '`/ralph retry`',
  ],
  [
    'stopped by a person while it worked',
    { kind: 'paused', reason: 'by_person', by: 'octocat' },
    { iterations: [entry(1)] },
    'Stopped by octocat after 1 iteration of this run.',
    'comment `/ralph resume`',
  ],
  [
    'parked on calls: when and which input',
    { kind: 'parked', reason: 'calls_per_hour', resumeAt: inMinutes(42) },
    {},
    'The hourly limit of 100 calls is used up, or reserved by other runs. Work continues after 2026-11-21 17:00 UTC (in 42 min).',
    '`max-calls-per-hour`',
  ],
  [
    'parked although it was to wait: which input kept it from that',
    { kind: 'parked', reason: 'calls_per_hour', resumeAt: inMinutes(42) },
    { waitSkippedBy: 'minutes' },
    'The run did not wait for that: `max-minutes` would leave no time for a call.',
    'Nothing to do',
  ],
  [
    'a failed probe is one iteration',
    { kind: 'halted', reason: 'circuit_open', circuitReason: 'no_progress', tripped: 'this-run', probeAt: END },
    { openedBy: 'probe' },
    'The one iteration that tried again made no progress, so no further call is made',
    'comment `/ralph retry`',
  ],
  [
    'a circuit of another Ralph says nothing of iterations',
    { kind: 'halted', reason: 'circuit_open', circuitReason: 'no_progress', tripped: 'earlier', probeAt: END },
    { openedBy: 'another-ralph' },
    'No call was made: another Ralph left its circuit open.',
    'tries one iteration',
  ],
  [
    'parked on cost: in hours',
    { kind: 'parked', reason: 'cost_per_day', resumeAt: inMinutes(462) },
    {},
    "Today's budget of $20.00 is used up, or reserved by other runs.",
    'the next scheduled run continues after that',
  ],
  [
    'parked by the provider',
    { kind: 'parked', reason: 'usage_limit', resumeAt: inMinutes(185) },
    {},
    '2026-11-21 19:23 UTC (in 3 h 5 min)',
    'not of this action',
  ],
  [
    'parked by a required step: which, and until when',
    { kind: 'parked', reason: 'step_circuit', step: 'review', resumeAt: inMinutes(42) },
    {},
    'The step `review` of the pipeline failed several times in a row, so its circuit is open. It is required, so nothing can be finished without it. Work continues after 2026-11-21 17:00 UTC (in 42 min).',
    '`/ralph run`',
  ],
  [
    'parked because no step may call',
    { kind: 'parked', reason: 'step_circuit', step: null, resumeAt: inMinutes(42) },
    {},
    "No step of the pipeline may call the agent: each one's own circuit is open after failures in a row.",
    '`reset_after`',
  ],
  [
    'parked by one sign of a limit: why not longer',
    { kind: 'parked', reason: 'usage_limit', resumeAt: inMinutes(360) },
    {
      iterations: [
        entry(1, {
          analysis: { usageLimit: { window: 'weekly', resumeAt: '2026-11-25T00:00:00.000Z', unconfirmed: true } },
        }),
      ],
    },
    "The provider's usage limit is reached.",
    'but only one sign points to it: the wait is 6 hours',
  ],
  [
    'parked on an issue lane: a schedule takes it up when it has nothing else to do',
    { kind: 'parked', reason: 'usage_limit', resumeAt: inMinutes(185) },
    onIssueLane,
    'Work can continue after',
    'A scheduled run with nothing else to do continues after that',
  ],
  [
    'iteration limit',
    { kind: 'limit', reason: 'iterations' },
    {},
    'limit of 10 iterations for one run.',
    'Nothing to do: the next scheduled run continues from here. A higher `max-iterations` lets one run do more.',
  ],
  [
    'iteration limit, and a question: the next step is not nothing',
    { kind: 'limit', reason: 'iterations' },
    { tasks: [taskReport(1, { state: 'done' }), taskReport(2, { state: 'blocked' })] },
    'limit of 10 iterations for one run.',
    'Decide what needs a person; the next scheduled run continues with the rest from here.',
  ],
  ['time limit', { kind: 'limit', reason: 'minutes' }, {}, '50 minutes', '`max-minutes`'],
  ['cost limit', { kind: 'limit', reason: 'cost' }, {}, '$5.00', '`max-cost-usd`'],
  [
    'a limit on an issue lane',
    { kind: 'limit', reason: 'iterations' },
    onIssueLane,
    '10 iterations',
    'to continue now, comment `/ralph run` on the issue',
  ],
  [
    'idle names all places that were looked at',
    { kind: 'idle', reason: 'no_tasks' },
    { tasks: [] },
    'Nothing to do: no open issue has the label `ralph`, and no task is open in `.ralph/fix_plan.md` or `.ralph/prd.json`.',
    'Put the label `ralph` on an issue that an agent should work on, or write a task into `.ralph/fix_plan.md`.',
  ],
  [
    'idle with a search, which may name what was renamed',
    { kind: 'idle', reason: 'no_tasks' },
    { tasks: [], taskSources: ['issues'], issueQuery: 'milestone:v1' },
    'Nothing to do: no open issue has the label `ralph` or is found by `issue-query` (`milestone:v1`).',
    'Put the label `ralph` on an issue that an agent should work on, or correct `issue-query` if what it names was renamed or deleted.',
  ],
  [
    'idle although something is there: the warnings say why',
    { kind: 'idle', reason: 'no_tasks' },
    { tasks: [], warnings: ['#4 was labelled by eve.'] },
    'Nothing to do: no open issue with the label `ralph` is for this run, and no task is open in `.ralph/fix_plan.md` or `.ralph/prd.json`. The warnings say what was left out.',
    'Put the label',
  ],
  [
    'idle without files',
    { kind: 'idle', reason: 'no_tasks' },
    { tasks: [], taskSources: ['issues'] },
    'Nothing to do: no open issue has the label `ralph`.',
    'Put the label `ralph` on an issue that an agent should work on.',
  ],
  [
    'idle without issues',
    { kind: 'idle', reason: 'no_tasks' },
    { tasks: [], taskSources: ['prd', 'plan', 'beads'] },
    'Nothing to do: no task is open in `.ralph/prd.json`, `.ralph/fix_plan.md` or `.beads/`.',
    'Write a task into `.ralph/prd.json`.',
  ],
  [
    'idle with all done',
    { kind: 'idle', reason: 'all_done' },
    { tasks: [taskReport(1, { state: 'done' })] },
    '1 of 1 task done already',
    'Merge the pull request',
  ],
  [
    'an event that asks nothing',
    { kind: 'idle', reason: 'not_for_us' },
    {},
    'neither the label `ralph`',
    'Nothing to do.',
  ],
  [
    'paused by a closed pull request: reopen it',
    { kind: 'paused', reason: 'by_person', by: 'pull request #7, closed without merging' },
    { iterations: [] },
    'by pull request #7',
    'reopen the pull request',
  ],
  [
    'paused by the renaming of the branch: resume',
    { kind: 'paused', reason: 'by_person', by: 'the renaming of branch ralph/issue-7 to mine' },
    { iterations: [] },
    'by the renaming of branch ralph/issue-7 to mine',
    'begin again from the base branch',
  ],
  [
    'stopped by an order before the first call: resume, by comment or by hand',
    { kind: 'paused', reason: 'by_person', by: 'octocat' },
    { iterations: [] },
    'Stopped by octocat; no call was made.',
    "comment `/ralph resume` on the pull request or one of the queue's issues, or run the workflow by hand with the command `resume`.",
  ],
  [
    'paused before there is a pull request: on an issue',
    { kind: 'paused', reason: 'by_person', by: 'octocat' },
    { pullRequest: null },
    'by octocat',
    "comment `/ralph resume` on one of the queue's issues, or run the workflow by hand",
  ],
  [
    "an issue's own lane is resumed on the issue",
    { kind: 'paused', reason: 'by_person', by: 'octocat' },
    onIssueLane,
    'by octocat',
    'comment `/ralph resume` on the issue.',
  ],
  [
    'refused says why',
    { kind: 'refused', reason: 'not_allowed', message: 'needs write permission' },
    {},
    'needs write permission',
    'write access',
  ],
  [
    'another run continues',
    { kind: 'refused', reason: 'another_run', message: 'Another run is ahead.' },
    {},
    'Another run is ahead.',
    'the next scheduled run picks up what is left.',
  ],
  [
    "another run on an issue's own lane: ask again",
    { kind: 'refused', reason: 'another_run', message: 'Another run is ahead.' },
    onIssueLane,
    'Another run is ahead.',
    'When the other run has ended, comment `/ralph run`',
  ],
  [
    'failed repeats the message',
    { kind: 'failed', reason: 'configuration', message: '`max-iterations` is `ten`' },
    { iterations: [], headSha: null },
    '`max-iterations` is `ten`',
    'Fix the problems above',
  ],
  [
    'a key that fails half-way does not deny what was published',
    { kind: 'failed', reason: 'configuration', message: 'Credit balance is too low' },
    {},
    'Credit balance',
    're-run the workflow. What is finished is on `ralph/queue`.',
  ],
  [
    'infrastructure: try again',
    { kind: 'failed', reason: 'infrastructure', message: 'GitHub said 502.' },
    {},
    'GitHub said 502.',
    'Re-run the workflow.',
  ],
])('%s', (_rule, ...[outcome, change, what, next]) => {
  const ended = report(outcome, change);
  expect(describeOutcome(ended).what).toContain(what);
  expect(renderSteps(suggestNextSteps(ended), 'log')).toContain(next.replaceAll('`', ''));
});

test('a run that ends because people paused the lane says so', () => {
  const worked = report({ kind: 'paused', reason: 'by_person', by: 'octocat' }, { iterations: [] });
  const text = describeOutcome({ ...worked, kind: 'ended', findings: [] });
  expect(text).toMatchObject({ title: ['Paused'], what: 'Paused by octocat; no call was made.' });
});

test.each<[string, Parameters<typeof record>[], string]>([
  ['nothing', [], '⚠️ Nothing was tested: set `verify`'],
  ['one command', [['lint']], '⚠️ `verify` is not set; the step `lint` of the pipeline passed in the last iteration.'],
  ['several', [['lint'], ['a`b']], "; the steps `lint`, `a'b` of the pipeline passed in the last iteration."],
  ['one that failed', [['lint', { result: { kind: 'failed', why: 'x', code: 1 } }]], '⚠️ Nothing was tested'],
  [
    'one before the agent changed something',
    [['lint'], ['work', { kind: 'agent', changed: true }]],
    '⚠️ Nothing was tested',
  ],
  [
    'no command',
    [
      ['work', { kind: 'agent' }],
      ['commit', { kind: 'git-commit' }],
    ],
    '⚠️ Nothing was tested',
  ],
])('without verify, of the steps of a pipeline counts what passed: %s', (_title, steps, expected) => {
  const iterations = [entry(1, { evidence: { steps: steps.map((step) => record(...step)) } })];
  const { what } = describeOutcome(report({ kind: 'limit', reason: 'iterations' }, { verifyCommands: [], iterations }));
  expect(what).toContain(expected);
});

test('a limit with failing tests does not recommend more of the same', () => {
  const failed = { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 } as const;
  const iterations = [entry(1, { evidence: { verification: failed } })];
  const ended = report({ kind: 'limit', reason: 'iterations' }, { iterations });
  expect(renderHeadline(ended, 'log')).toBe('❌ npm test fails; iteration limit');
  expect(renderSteps(suggestNextSteps(ended), 'log')).toBe(
    'Nothing to do: the next scheduled run continues from here.',
  );
});

describe('before anything is known', () => {
  test.each(OUTCOMES)('$kind ($reason) needs neither lane nor policy', (outcome) => {
    const early = createLanelessReport({ outcome, repositoryUrl: '', runUrl: '', startedAt: END, endedAt: END });
    const text = describeOutcome(early);
    for (const sentence of [renderHeadline(early, 'log'), text.what, renderSteps(suggestNextSteps(early), 'log')]) {
      expect(sentence).not.toBe('');
      expect(sentence).not.toMatch(/undefined|null|NaN/);
    }
  });
});

/** Outcomes whose headline also depends on what the run did before. */
const isOfEarlierRun = (outcome: Outcome): boolean =>
  outcome.reason === 'circuit_open' && outcome.tripped === 'earlier';

test.each(OUTCOMES.filter((outcome) => !isOfEarlierRun(outcome)))(
  'status and monitor name $kind ($reason) as its headline does',
  (outcome) => {
    const { title } = describeOutcome(report(outcome, { iterations: [entry(1)] }));
    const words = title.map((word) => (typeof word === 'string' ? word : '')).join('');
    const headline = words.replace(/[:;].*$/s, '').toLowerCase();
    expect(nameOutcome(outcome).toLowerCase()).toMatch(new RegExp(`^${headline}`));
  },
);

test('an outcome of a newer version is named by its codes', () => {
  expect(nameOutcome({ kind: 'rested', reason: 'constructor' })).toBe('rested (constructor)');
});
