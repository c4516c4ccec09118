import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/core/outcome.ts';
import { LEFT_OUT_CLAUSES } from '../../../src/core/review/left-out.ts';
import type { ShownProgress } from '../../../src/core/tasks/task.ts';
import type { WorkedReport } from '../../../src/handover/report.ts';
import { suggestNextSteps } from '../../../src/report/next/for-run.ts';
import { suggestForTask } from '../../../src/report/next/for-tasks.ts';
import {
  createCommandStep,
  STEP_OPENINGS,
  type NextStep,
  suggestAfterRounds,
  suggestAtHome,
  suggestForFeedback,
  suggestWhenReady,
  renderContinuation,
  buildStepList,
  renderSteps,
  createNextStep,
  describeWhereToWrite,
} from '../../../src/report/next/step.ts';
import { renderNotification } from '../../../src/report/pages/notification.ts';
import { renderClosingBlock } from '../../../src/report/pages/progress.ts';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import { renderStatusComment } from '../../../src/report/pages/status-comment.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { renderEndAtHome } from '../../../src/report/sentences/at-home.ts';
import { noChange } from '../../../src/core/lane/change.ts';
import { END, entry, OUTCOMES, planTask, prdTask, report, taskReport, trainPull } from './fixtures.ts';

/** Returns the steps by their kinds, with the command if there is one: `fix, command retry`. */
function kindsOf(steps: readonly NextStep[]): string {
  return steps.map((step) => (step.kind === 'command' ? `command ${step.command}` : step.kind)).join(', ');
}

const RED = { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 } as const;
const ON_ISSUE: Partial<WorkedReport> = { lane: 'issue-12', branch: 'ralph/issue-12' };
const COMPLETE: Outcome = { kind: 'complete', reason: 'plan_complete' };
const BLOCKED: Outcome = { kind: 'blocked', reason: 'needs_human' };
const LIMIT: Outcome = { kind: 'limit', reason: 'iterations' };
const open = (circuitReason: 'no_progress' | 'agent_error'): Outcome => ({
  ...{ kind: 'halted', reason: 'circuit_open', circuitReason, tripped: 'this-run', probeAt: END },
});

describe('after a run', () => {
  test.each<readonly [string, Outcome, Partial<WorkedReport>, string]>([
    ['complete', COMPLETE, {}, 'review, merge'],
    ['complete, with a warning', COMPLETE, { warnings: ['main was rewritten'] }, 'look, review, merge'],
    ['complete, and the last verification failed', COMPLETE, { iterations: [entry(1, { verification: RED })] }, 'look'],
    ['cancelled, with work on the branch', { kind: 'cancelled', reason: 'signal' }, {}, 'rerun, note'],
    ['cancelled, with nothing published', { kind: 'cancelled', reason: 'signal' }, { headSha: null }, 'rerun'],
    ['killed', { kind: 'cancelled', reason: 'killed' }, { headSha: null }, 'wait, set'],
    ['a denied tool', { kind: 'halted', reason: 'permission_denied' }, {}, 'set, set, wait, command retry'],
    [
      "a denied tool on an issue's branch",
      { kind: 'halted', reason: 'permission_denied' },
      ON_ISSUE,
      'set, set, command retry',
    ],
    ['only tests', { kind: 'halted', reason: 'test_saturation' }, {}, 'say, close, note, wait, command retry'],
    ['claims without evidence', { kind: 'halted', reason: 'safety' }, {}, 'look, fix, wait, command retry'],
    ['an open circuit', open('no_progress'), {}, 'fix, command retry, wait'],
    ['an agent that fails', open('agent_error'), {}, 'note, fix, command retry, wait'],
    ['a red base', { kind: 'blocked', reason: 'base_is_red' }, {}, 'fix, set, wait, command run'],
    ['a question', BLOCKED, { tasks: [taskReport(1, { state: 'blocked', attempts: 1 })] }, 'comment'],
    [
      'a task given up',
      BLOCKED,
      { tasks: [taskReport(1, { state: 'failed', attempts: 8 })] },
      'simplify, comment, raise',
    ],
    [
      'a task given up, and a red verification',
      BLOCKED,
      {
        tasks: [taskReport(1, { state: 'failed', attempts: 8 })],
        iterations: [entry(1, { taskNumber: 1, verification: RED })],
      },
      'note, note, fix, simplify, comment, raise',
    ],
    ['a task of an earlier Ralph', BLOCKED, { tasks: [prdTask('T1', { state: 'failed' })] }, 'command retry prd-T1'],
    ['a task that asks for nothing known', BLOCKED, { tasks: [taskReport(1)] }, 'answer, command retry'],
    ['a limit of the hour', { kind: 'parked', reason: 'calls_per_hour', resumeAt: END }, {}, 'nothing, wait, raise'],
    [
      'a limit of the provider that a person must lift',
      { kind: 'parked', reason: 'usage_limit', resumeAt: END, needsPerson: 'no credit' },
      {},
      'raise, command run, wait, note',
    ],
    [
      'the circuit of a step',
      { kind: 'parked', reason: 'step_circuit', step: null, resumeAt: END },
      {},
      'nothing, wait, note, command run, note',
    ],
    ['a limit of the run', LIMIT, {}, 'nothing, wait, note'],
    ["a limit of the run on an issue's branch", LIMIT, ON_ISSUE, 'wait, command run, note'],
    [
      'a limit of the run, and a question',
      LIMIT,
      { tasks: [taskReport(2, { state: 'blocked' })] },
      'decide, wait, note',
    ],
    ['no tasks', { kind: 'idle', reason: 'no_tasks' }, {}, 'label, write'],
    ['all done', { kind: 'idle', reason: 'all_done' }, {}, 'merge, label, write'],
    ['a review that others wait for', { kind: 'idle', reason: 'waiting_for_review' }, {}, 'review, close, wait'],
    ['another event', { kind: 'idle', reason: 'not_for_us' }, {}, 'nothing'],
    ['paused', { kind: 'paused', reason: 'by_person', by: 'octo' }, { headSha: null }, 'command resume'],
    [
      'paused by a closed pull request',
      { kind: 'paused', reason: 'by_person', by: 'pull request #7' },
      { headSha: null },
      'reopen, set',
    ],
    ['another run', { kind: 'refused', reason: 'another_run', message: '' }, {}, 'note, nothing, wait'],
    [
      "another run on an issue's branch",
      { kind: 'refused', reason: 'another_run', message: '' },
      ON_ISSUE,
      'note, command run',
    ],
    ['not allowed', { kind: 'refused', reason: 'not_allowed', message: '' }, {}, 'ask'],
    ['a configuration', { kind: 'failed', reason: 'configuration', message: '' }, { headSha: null }, 'fix, rerun'],
    ['the infrastructure', { kind: 'failed', reason: 'infrastructure', message: '' }, { headSha: null }, 'rerun, note'],
  ])('%s', (_circumstance, outcome, change, kinds) => {
    expect(kindsOf(suggestNextSteps(report(outcome, change)))).toBe(kinds);
  });

  test.each<readonly [string, Outcome, string]>([
    ['complete', COMPLETE, 'review, merge'],
    ['a limit of the run', LIMIT, 'rerun'],
    ['an open circuit', open('no_progress'), 'fix, command reset circuit, rerun, wait'],
    ['a question', BLOCKED, 'simplify, command retry, rerun'],
    ['a red base', { kind: 'blocked', reason: 'base_is_red' }, 'fix, rerun'],
    ['no tasks', { kind: 'idle', reason: 'no_tasks' }, 'set, note'],
    ['paused by another person', { kind: 'paused', reason: 'by_person', by: 'octo' }, 'command resume, rerun'],
    ['a configuration', { kind: 'failed', reason: 'configuration', message: '' }, 'follow, rerun'],
  ])('at home: %s', (_circumstance, outcome, kinds) => {
    expect(kindsOf(suggestAtHome(report(outcome)))).toBe(kinds);
  });
});

describe('about one task', () => {
  test.each<readonly [string, Partial<ShownProgress>, string]>([
    ['a question', { state: 'blocked', attempts: 1 }, 'comment'],
    ['nothing to do', { state: 'blocked', attempts: 1, reason: 'nothing_to_do' }, 'close, comment'],
    ['files that are withheld', { state: 'blocked', attempts: 1, reason: 'withheld' }, 'comment'],
    [
      'a push that is refused',
      { state: 'blocked', attempts: 1, reason: 'push_refused' },
      'follow, command retry, comment',
    ],
    ['no progress', { state: 'stuck', attempts: 3 }, 'comment'],
    ['no progress, and its turn again', { state: 'todo', attempts: 3 }, 'comment'],
    ['given up', { state: 'failed', attempts: 8 }, 'simplify, comment, raise'],
  ])('%s', (_circumstance, progress, kinds) => {
    expect(kindsOf(suggestForTask(taskReport(7, progress), report(LIMIT)))).toBe(kinds);
  });

  test('protected files are allowed by name', () => {
    const change = { ...noChange, leftOut: [{ path: '.github/a.yml', why: LEFT_OUT_CLAUSES.protected }] };
    const one = taskReport(7, { state: 'blocked', attempts: 1, reason: 'withheld' });
    expect(renderSteps(suggestForTask(one, report(LIMIT, { change })), 'log')).toBe(
      "If Ralph may change them, add allow-protected-paths: '.github/a.yml' to the settings: of the workflow: the next run continues; if not, reply on #7 with one comment: first line /ralph retry, below it how to do without them.",
    );
  });

  test('protected files of a task of the plan are allowed without a command', () => {
    const change = { ...noChange, leftOut: [{ path: '.github/a.yml', why: LEFT_OUT_CLAUSES.protected }] };
    const one = planTask(7, { state: 'blocked', attempts: 1, reason: 'withheld' });
    expect(renderSteps(suggestForTask(one, report(LIMIT, { change })), 'log')).toMatch(
      /of the workflow: the next run continues; if not, say that the task should do without them: below the title in .*, then comment \/ralph retry/,
    );
  });

  test('where nobody can comment, it is retried by hand', () => {
    const one = planTask(7, { state: 'failed', attempts: 8 });
    expect(renderSteps(suggestForTask(one, report(LIMIT, { pullRequest: null })), 'log')).toContain(
      'run the workflow by hand with the command retry',
    );
  });
});

test.each([
  ['open', ['ralph/queue'], 'merge, label, write'],
  ['closed or merged', ['ralph/issue-7'], 'label, write'],
])('with all done and its pull request %s: %s', (_state, branches, kinds) => {
  const train = { pulls: branches.map((branch) => trainPull(7, { branch })), isCompared: true, autoMerge: null };
  const ended = report({ kind: 'idle', reason: 'all_done' }, { train: { ...train, closed: [] } });
  expect(kindsOf(suggestNextSteps(ended))).toBe(kinds);
});

test('after the last round an answer may be enough', () => {
  expect(kindsOf(suggestAfterRounds('thread', true))).toMatch(/^nothing, push, say, /);
  expect(suggestAfterRounds('check', false)).toEqual(suggestForFeedback('check', 'used-up'));
});

const issue = taskReport(7).task;

/** The parts after the verb of each kind: our own text with code, a foreign text, or a task. */
const WORDS: Readonly<Record<NextStep['kind'], readonly (string | typeof issue)[]>> = {
  command: [],
  rerun: [' to continue'],
  review: ['the branch'],
  merge: ['the branch'],
  look: ['the pull request: <img> of @octocat'],
  draft: ['it to a draft'],
  arm: [],
  fix: ['`main`'],
  push: ['a fix yourself'],
  answer: describeWhereToWrite(issue),
  reply: ['the thread'],
  comment: [issue, ' with one comment'],
  say: ['more', ...describeWhereToWrite(planTask(7).task)],
  simplify: ['the task smaller'],
  close: ['', issue],
  finish: ['', planTask(7).task],
  reopen: ['the issue'],
  resolve: ['the thread'],
  follow: ['each line says'],
  decide: [],
  ask: ['a person'],
  label: ['the label `ralph` on #7'],
  relabel: ['the label `ralph`'],
  write: ['a task into `PROMPT.md`'],
  raise: ['`max-iterations`'],
  set: ['set `verify`'],
  wait: ['the next run continues'],
  note: ['the journal lists what failed'],
  nothing: [' to do'],
};
const RETRY = createCommandStep('retry', ['the issue']);

describe('each kind of step is rendered in each place', () => {
  test.each(Object.keys(STEP_OPENINGS) as readonly NextStep['kind'][])('%s', (kind) => {
    const one = kind === 'command' ? RETRY : createNextStep(kind, WORDS[kind]);
    const log = renderSteps([one], 'log');
    const terminal = renderSteps([one], 'terminal');
    const markdown = renderSteps([one], 'markdown');
    expect(log).toMatch(/^[A-Z][^`]+\.$/);
    expect(terminal).toMatch(/^[a-z][^`]+\.$/);
    expect(markdown).toMatch(/^[A-Z].+\.$/);
    // The text contains neither markup nor mentions.
    expect(markdown).not.toMatch(/<img|@octocat/);
    const words = (text: string): string => text.toLowerCase().replaceAll(/[^a-z]|&lt;|&gt;/g, '');
    if (kind !== 'command' && kind !== 'rerun') expect(words(terminal)).toBe(words(log));
  });

  test('a command is a comment on GitHub, and a command in a terminal', () => {
    expect(renderSteps([RETRY], 'log')).toBe('Comment /ralph retry on the issue.');
    expect(renderSteps([RETRY], 'markdown')).toMatch(/^Comment .*\/.*ralph retry.* on the issue\.$/);
    expect(renderSteps([RETRY], 'terminal')).toBe('ralph retry.');
    expect([renderContinuation('circuit', 'log'), renderContinuation('circuit', 'terminal')]).toEqual([
      '/ralph retry',
      'ralph reset circuit',
    ]);
  });

  test('a task is linked on a page', () => {
    expect(renderSteps([createNextStep('answer', describeWhereToWrite(issue))], 'markdown')).toBe(
      'Answer the agent: in the text of [#7](https://github.com/acme/shop/issues/7) or in a comment on it.',
    );
  });

  test('steps are joined into sentences', () => {
    const steps = [
      { ...createNextStep('fix', 'the cause'), lead: 'to continue, ' },
      createNextStep('rerun', '', ' and '),
      createNextStep('nothing', ' to do'),
    ];
    expect(buildStepList(steps, 'log')).toEqual([
      'To continue, fix the cause and re-run the workflow.',
      'Nothing to do.',
    ]);
  });
});

test.each(OUTCOMES)('log, summary, pull request, answer and terminal have the steps of $kind ($reason)', (outcome) => {
  const ended = report(outcome);
  const steps = renderSteps(suggestNextSteps(ended), 'markdown');
  expect(renderClosingBlock(ended)).toContain(`Next: ${renderSteps(suggestNextSteps(ended), 'log')}`);
  for (const page of [renderSummary(ended), buildPullRequestText(ended, 0).body])
    expect(page).toContain(`**Next:** ${steps}`);
  // An issue's comment leads to the pull request, unless that may be missing or older than the run.
  const onIssue = renderStatusComment(ended, 'issue-13');
  if (outcome.kind === 'failed') expect(onIssue).toContain(`**Next:** ${steps}`);
  else expect(onIssue).toMatch(/\.\*\* See pull request \[#7\]\(\S+\)\.\n(?![^]*\*\*Next:)/);
  const alone = { ...ended, pullRequest: null };
  expect(renderStatusComment(alone, 'issue-13')).toContain(
    `**Next:** ${renderSteps(suggestNextSteps(alone), 'markdown')}`,
  );
  expect(renderEndAtHome(ended)).toContain(`Next: ${renderSteps(suggestAtHome(ended), 'terminal')}`);
});

test('a notification has the steps of the task, of the pull request, or of the run', () => {
  const stuck = taskReport(7, { state: 'failed', attempts: 8 });
  const ended = report(LIMIT, { tasks: [stuck] });
  const notified = (kind: 'failed' | 'ready' | 'circuit_open', about: string): string =>
    renderNotification({
      ...{ needs: [{ kind, about }], report: ended, change: noChange, lastTask: null, notices: [], mentions: [] },
    });
  const next = (steps: readonly NextStep[]): string => `**Next:** ${renderSteps(steps, 'markdown')}`;
  expect(notified('failed', 'issue-7')).toContain(next(suggestForTask(stuck, ended)));
  expect(notified('ready', 'lane-queue')).toContain(next(suggestWhenReady(ended)));
  expect(notified('circuit_open', 'lane-queue')).toContain(next(suggestNextSteps(ended)));
});
