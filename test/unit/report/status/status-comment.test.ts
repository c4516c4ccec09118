import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COMMAND_HELP, findNearestCommand, parseCommand } from '../../../../src/core/people/command.ts';
import type { Lease } from '../../../../src/core/sharing/lease.ts';
import type { OrderKind } from '../../../../src/core/sharing/orders.ts';
import { describeLaneStatus, renderLaneStatus } from '../../../../src/report/sentences/lane-status.ts';
import { renderHeadlineSection } from '../../../../src/report/pages/sections.ts';
import {
  REFUSAL_MARKER,
  renderAnswer,
  renderStatusComment,
  withAnswer,
  STATUS_MARKER,
} from '../../../../src/report/pages/status-comment.ts';
import { renderSummary } from '../../../../src/report/pages/summary.ts';
import type { LaneView } from '../../../../src/handover/report.ts';
import {
  END,
  entry,
  laneState as state,
  laneView as view,
  OUTCOMES,
  planTask,
  policy,
  report,
  taskReport,
} from '../fixtures.ts';
import { runs } from '../../../runs.ts';

const lines = (comment: string) =>
  comment
    .replaceAll('\u200B', '')
    .split('\n')
    .filter((line) => line !== '');

describe('status comment', () => {
  test('on an issue: what happened, what next, this issue, where', () => {
    expect(lines(renderStatusComment(report({ kind: 'limit', reason: 'iterations' }), 'issue-12'))).toEqual([
      '<!-- ralph-action:status -->',
      '**This issue:** ✅ done after 1 iteration, commit [`a1b2c3d`](https://github.com/acme/shop/commit/a1b2c3d4e5f60718293a4b5c6d7e8f9001122334), verification passed (8 s)',
      '`[███░░░]` 1 of 2 tasks done · 1 iteration · $0.12',
      'Where: pull request [#7](https://github.com/acme/shop/pull/7) · branch `ralph/queue` · [log of the run](https://github.com/acme/shop/actions/runs/99)',
      '<sub>2026-11-21 16:18 UTC</sub>',
    ]);
  });

  test('says when state was not saved', () => {
    const comment = renderStatusComment(
      report(
        { kind: 'limit', reason: 'iterations' },
        { saved: { kind: 'not-saved', why: 'the cache is read-only for this event' } },
      ),
      null,
    );
    expect(comment).toContain(
      'State was **not saved**: the cache is read-only for this event. The next run does not know what this one used and did.',
    );
  });

  test('on the pull request it is one sentence, since the description says the rest', () => {
    expect(lines(renderStatusComment(report({ kind: 'limit', reason: 'iterations' }), null))).toEqual([
      '<!-- ralph-action:status -->',
      '**Iteration limit.** See the description, or the [log of the run](https://github.com/acme/shop/actions/runs/99).',
      '<sub>2026-11-21 16:18 UTC</sub>',
    ]);
  });

  test.each(OUTCOMES)('starts with its marker when the run ended $kind ($reason)', (outcome) => {
    expect(renderStatusComment(report(outcome, { lane: 'issue-12' }), null).split('\n')[0]).toBe(STATUS_MARKER);
  });
});

describe('for any foreign text', () => {
  const nasty = fc.oneof(
    fc
      .array(
        fc.constantFrom(
          '@octocat',
          'fixes #12',
          '<!-- ',
          ' -->',
          '```',
          '`',
          '|',
          '\n',
          '\u202E',
          '\n\n# ',
          '</details>',
          'GH-1',
          'https://a.b/issues/1',
          '\\',
          '<',
          'word ',
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 300 }),
  );

  test('what is reported of a task that was given up, or of one that waits, opens no comment but its own, pings and closes nothing', () => {
    fc.assert(
      fc.property(
        fc.tuple(nasty, nasty, nasty, nasty, nasty),
        fc.boolean(),
        ([title, said, command, tail, name], onFile) => {
          const failed = onFile
            ? planTask(13, { title, state: 'failed', attempts: 1 })
            : taskReport(13, { title, state: 'failed', attempts: 1 });
          const iterations = [
            entry(1, {
              taskId: failed.task.id,
              recommendation: said,
              verification: { kind: 'failed', command, code: 1, tail, durationMs: 1 },
              evidence: { files: [name], fileCount: 1 },
              verdict: { discrepancies: [said] },
            }),
          ];
          const blocked = report(
            { kind: 'blocked', reason: 'needs_human' },
            {
              tasks: [
                failed,
                {
                  task: { ...failed.task, id: 'x', obstacle: 'needs-approval' },
                  progress: { ...failed.progress, state: 'todo' },
                  share: failed.share,
                  asked: null,
                },
              ],
              iterations,
            },
          );
          const comment = renderStatusComment(blocked, failed.task.id);
          expect(comment).toContain(' is not done after 1 call; you are needed.**');
          expect(comment.match(/<!--/g)).toHaveLength(1);
          expect(comment).not.toMatch(/@[^\u200B]|gh-\d|(?<!\[)#\d/i);
          expect(renderSummary(blocked)).not.toMatch(/<!--|@[^\u200B]|gh-\d|(?<!\[|\[pull request )#\d/i);
        },
      ),
      { numRuns: runs(200) },
    );
  });
});

test.each<[string, string | null, string]>([
  ['no comment yet', null, `${STATUS_MARKER}\n\n<!-- ralph-action:answer -->\n\nPaused.`],
  [
    'how the work stands stays, and comes first',
    `${STATUS_MARKER}\n\n**Complete.**`,
    `${STATUS_MARKER}\n\n**Complete.**\n\n<!-- ralph-action:answer -->\n\n---\n\nPaused.`,
  ],
  [
    'an older answer gives way',
    `${STATUS_MARKER}\n\n**Complete.**\n\n<!-- ralph-action:answer -->\n\n---\n\nResumed.`,
    `${STATUS_MARKER}\n\n**Complete.**\n\n<!-- ralph-action:answer -->\n\n---\n\nPaused.`,
  ],
])('an answer in the status comment: %s', (_, current, expected) => {
  expect(withAnswer(current, 'Paused.')).toBe(expected);
});

describe('answers', () => {
  const answered = report({ kind: 'idle', reason: 'answered' });
  const status = (lane: LaneView) =>
    renderAnswer({ kind: 'status', receipt: null }, answered, { view: lane, notice: null, forecast: null });
  const help = (word: string) => renderAnswer({ kind: 'help', word }, answered, { view, notice: null, forecast: null });

  test('/ralph status says how the lane stands', () => {
    expect(lines(status(view))).toEqual([
      '**Status of the queue**',
      '- `[███░░░]` 1 of 2 tasks done',
      '- Next: Greet @octocat (2 iterations so far)',
      '- Waits for a limit (`usage_limit`): continues after 2026-11-21 17:00 UTC (in 42 min)',
      '- Circuit: open (`no_progress`); the first run after 2026-11-21 16:38 UTC (in 20 min) tries one iteration; to continue at once: `/ralph retry`',
      '- This hour, used or reserved: 7 of 100 calls, 34.5k of 500.0k tokens, until 2026-11-21 17:00 UTC (in 42 min)',
      '- This day (UTC), used or reserved: $8.20 of $20.00, until 2026-11-22 00:00 UTC (in 7 h 42 min)',
      '- Last run: waiting for a limit to reset: usage at the provider, 2026-11-21 16:08 UTC',
      '- State: restored #41 (cache and ref)',
      '- Pull request: [#7](https://github.com/acme/shop/pull/7)',
      'Last changes:',
      '- 2026-11-21 16:08 UTC, circuit: closed → open (no_progress)',
      '<sub>2026-11-21 16:18 UTC, [run](https://github.com/acme/shop/actions/runs/99)</sub>',
    ]);
  });

  test('/ralph status on a lane that never ran', () => {
    const answer = lines(
      status({
        ...view,
        state: null,
        restored: 'none yet (first run)',
        tasks: [],
        circuit: 'closed',
        probeAt: null,
        pullRequest: null,
        usage: { hour: null, day: null },
        limits: { ...policy, maxTokensPerHour: 0, maxCostUsdPerDay: 0 },
      }),
    );
    expect(answer.slice(1, -1)).toEqual([
      '- No task is open here.',
      '- Circuit: closed',
      '- This hour, used or reserved: 0 of 100 calls',
      '- Last run: none yet',
      '- State: none yet (first run)',
    ]);
  });

  const by = (login: string) => ({ ...view, state: { ...state, pause: { by: login, at: END - 60_000 } } });
  const claimedBy: Lease = {
    runTag: 'm',
    runId: '98',
    runAttempt: 1,
    runUrl: 'https://github.com/acme/shop/actions/runs/98',
    acquiredAt: END - 600_000,
    durationMs: 3_600_000,
  };

  test('a paused lane: who, since when, and how to continue', () => {
    expect(lines(status(by('octocat')))).toContain(
      '- Paused by octocat, 2026-11-21 16:17 UTC; to continue: `/ralph resume`',
    );
  });

  test('a lane that is worked on: by which run, and until when at the latest', () => {
    const answer = lines(status({ ...view, claimedBy }));
    expect(answer).toContain(
      '- A [run](https://github.com/acme/shop/actions/runs/98) is at work now, until 2026-11-21 17:08 UTC (in 50 min) at the latest',
    );
    expect(answer).toContain('- Working on: Greet @octocat (2 iterations so far)');
  });

  test('a pause while a run works does not end that run; stop does', () => {
    expect(status({ ...by('octocat'), claimedBy })).toContain(
      'at the latest; a pause lets it continue, `/ralph stop` ends it after its iteration',
    );
  });

  test('what another branch asks: where', () => {
    const asked = 'https://github.com/acme/shop/issues/1#issuecomment-41';
    const tasks = [{ ...taskReport(1, { state: 'blocked' }), asked }];
    expect(lines(status({ ...view, tasks }))).toContain(
      `- Waits: #1 (Task 1): the agent cannot continue without a person. See [#1 (comment)](${asked})`,
    );
  });

  test('the last five changes, with who asked for them', () => {
    const transitions = Array.from({ length: 7 }, (_, index) => ({
      at: END + index * 60_000,
      subject: 'pause' as const,
      from: 'working',
      to: 'paused',
      reason: `by person-${String(index)} (comment)`,
    }));
    const answer = lines(status({ ...view, state: { ...state, transitions } }));
    expect(answer.slice(answer.indexOf('Last changes:') + 1, -1)).toEqual(
      [2, 3, 4, 5, 6].map(
        (index) =>
          `- 2026-11-21 16:${String(18 + index)} UTC, pause: working → paused (by person-${String(index)} (comment))`,
      ),
    );
  });

  test('a change of a task names it as people do', () => {
    const moved = { at: END, subject: 'task' as const, to: 'in-progress', reason: 'started' };
    const transitions = [
      { ...moved, from: 'issue-1 todo' },
      { ...moved, from: 'issue-99 todo' },
    ];
    const answer = status({ ...view, tasks: [taskReport(1)], state: { ...state, transitions } }).replaceAll(
      '\u200B',
      '',
    );
    expect(answer).toContain('UTC, task: #1 todo → in-progress (started)');
    expect(answer).toContain('UTC, task: #99 todo → in-progress (started)');
  });

  test('names and reasons that strangers chose are text', () => {
    const answer = status({
      ...by('@octocat <b>'),
      state: {
        ...state,
        pause: { by: '@octocat <b>', at: END },
        transitions: [{ at: END, subject: 'session', from: 'a|b', to: '`c`', reason: 'by #12' }],
      },
    });
    expect(answer).toContain('Paused by @\u200Boctocat &lt;b>');
    expect(answer).toContain('a\\|b → \\`c\\` (by #\u200B12)');
  });

  test.each(Object.keys(COMMAND_HELP))('the help lists /ralph %s', (command) => {
    expect(help('')).toContain(`- \`/ralph ${command}\`: `);
  });

  test('an unknown command gets the help and the nearest match', () => {
    const answer = help('stauts');
    expect(answer).toContain('There is no command `stauts`. Did you mean `/ralph status`?');
    expect(answer).toContain('- `/ralph run`: ');
    expect(answer).toContain('**Status of');
  });

  test('/ralph help greets', () => {
    expect(lines(help('')).slice(0, 3)).toEqual([
      'Ralph works on open issues with the label `ralph`. People with write permission can comment:',
      '- `/ralph run`: work on this issue now (on a pull request: on its tasks)',
      '- `/ralph status`: show the status of the work, without an agent call',
    ]);
  });

  test('a foreign word in the help pings nobody and opens no comment', () => {
    const answer = help('@octocat<!--`');
    expect(answer).toContain('There is no command <code>&#x40;octocat&lt;&excl;--&#x60;</code>.');
  });

  test('who asked for work hears why none came of it, then how the lane stands', () => {
    const parked = report(
      { kind: 'parked', reason: 'calls_per_hour', resumeAt: END + 42 * 60_000 },
      { warnings: ['A part is reserved by a run on issue #2 (https://github.com/acme/shop/actions/runs/98).'] },
    );
    expect(
      lines(renderAnswer({ kind: 'status', receipt: null }, parked, { view, notice: null, forecast: null })).slice(
        0,
        5,
      ),
    ).toEqual([
      '**Waiting for a limit to reset.** The hourly limit of 100 calls is used up, or reserved by other runs. Work continues after 2026-11-21 17:00 UTC (in 42 min). ✅ `npm test` passes.',
      '**Next:** Nothing to do: the next scheduled run continues after that. To go faster, raise `max-calls-per-hour`.',
      '### Warnings',
      '- A part is reserved by a run on issue #2 ([run 98](https://github.com/acme/shop/actions/runs/98)).',
      '**Status of the queue**',
    ]);
  });

  test.each(OUTCOMES.filter(({ reason }) => reason !== 'answered'))(
    'begin with the headline when the run ended $kind ($reason)',
    (outcome) => {
      const shown = report(outcome);
      expect(renderAnswer({ kind: 'status', receipt: null }, shown, { view, notice: null, forecast: null })).toContain(
        `${renderHeadlineSection(shown)}\n\n`,
      );
    },
  );

  test('of a run that restored no lane name none', () => {
    const refused = report(
      { kind: 'refused', reason: 'another_run', message: 'The state of issue #12 changed 3 times.' },
      { lane: 'issue-12' },
    );
    expect(
      lines(renderAnswer({ kind: 'status', receipt: null }, refused, { view: null, notice: null, forecast: null })),
    ).toEqual([
      '**Another run is at work.** The state of issue #12 changed 3 times.',
      '**Next:** This run made no call. When the other run has ended, comment `/ralph run` on the issue.',
      '<sub>2026-11-21 16:18 UTC, [run](https://github.com/acme/shop/actions/runs/99)</sub>',
    ]);
  });

  test('counters that cannot be read count as used up', () => {
    const answer = lines(
      status({
        ...view,
        usage: {
          hour: { calls: 1e15, tokens: 1e15, endsAt: END + 60_000 },
          day: { costUsd: 1e15, endsAt: END + 60_000 },
        },
      }),
    );
    expect(answer).toContain(
      '- This hour, used or reserved: all of 100 calls, all of 500.0k tokens, until 2026-11-21 16:19 UTC (in 1 min)',
    );
    expect(answer).toContain(
      '- This day (UTC), used or reserved: all of $20.00, until 2026-11-21 16:19 UTC (in 1 min)',
    );
  });

  test('a failure is reported whole, with what to do next, and does not overwrite the status', () => {
    const failed = report(
      { kind: 'failed', reason: 'configuration', message: 'The run cannot work:\n- no key\n- no push' },
      { iterations: [] },
    );
    expect(
      lines(
        renderAnswer({ kind: 'refusal', why: 'The run cannot work:\n- no key\n- no push' }, failed, {
          view: null,
          notice: null,
          forecast: null,
        }),
      ),
    ).toEqual([
      REFUSAL_MARKER,
      '**Failed: configuration; you are needed.** The run cannot work:',
      '- no key',
      '- no push',
      '**Next:** Fix the problems above and re-run the workflow.',
    ]);
  });

  test('a refusal does not overwrite the status', () => {
    const answer = renderAnswer(
      { kind: 'refusal', why: '`/ralph run` needs write permission, @octocat has read.' },
      answered,
      { view: null, notice: null, forecast: null },
    );
    expect(lines(answer)).toEqual([
      REFUSAL_MARKER,
      '**Not done.** `/ralph run` needs write permission, @octocat has read.',
    ]);
    expect(answer).not.toContain('@octocat');
  });
});

describe('the receipt of an order comes first', () => {
  const queue = 'the queue (all tasks without a branch of their own)';
  const pausedBy = (by: string): Partial<LaneView> => ({ state: { ...state, pause: { by, at: END } } });
  const claimedBy: Lease = {
    runTag: 'm',
    runId: '98',
    runAttempt: 1,
    runUrl: 'https://github.com/acme/shop/actions/runs/98',
    acquiredAt: END - 600_000,
    durationMs: 3_600_000,
  };
  const afresh = 'The agent begins a new conversation with the next iteration.';
  const goesOn =
    ' The [run](https://github.com/acme/shop/actions/runs/98) in progress continues to its end; the order takes effect with the next one.';

  test.each<[OrderKind, 'changed' | 'as before', Partial<LaneView>, string]>([
    [
      'pause',
      'changed',
      pausedBy('octocat'),
      `**Paused** by @octocat: no run works on ${queue} until \`/ralph resume\`.`,
    ],
    [
      'pause',
      'changed',
      { ...pausedBy('octocat'), claimedBy },
      `**Paused** by @octocat: no run works on ${queue} until \`/ralph resume\`.${goesOn}`,
    ],
    [
      'pause',
      'changed',
      { ...pausedBy('octocat'), lane: 'issue-12' },
      '**Paused** by @octocat: no run works on issue #12 until `/ralph resume`.',
    ],
    [
      'pause',
      'as before',
      { ...pausedBy('Ann Other'), claimedBy },
      `**Already paused**: no run works on ${queue} until \`/ralph resume\`.`,
    ],
    [
      'stop',
      'changed',
      { ...pausedBy('octocat'), claimedBy },
      `**Stopped**: no run works on ${queue} until \`/ralph resume\`. The [run](https://github.com/acme/shop/actions/runs/98) in progress ends after its current iteration.`,
    ],
    [
      'stop',
      'changed',
      { ...pausedBy('octocat'), claimedBy, jobs: 'three' },
      `**Stopped**: no run works on ${queue} until \`/ralph resume\`. The [run](https://github.com/acme/shop/actions/runs/98) in progress continues to its end: to end it now, cancel it. What is finished is kept.`,
    ],
    ['stop', 'as before', pausedBy('octocat'), `**Already paused**: no run works on ${queue} until \`/ralph resume\`.`],
    [
      'retry',
      'changed',
      { claimedBy },
      `**Kept for another try**: what failed or was blocked gets all its iterations again.${goesOn}`,
    ],
    ['retry', 'as before', {}, '**Nothing to try again**: no such task has failed or is blocked.'],
    ['resume', 'changed', {}, `**Resumed**: work on ${queue} continues.`],
    ['resume', 'as before', {}, '**Nothing to resume**: nothing is paused here.'],
    ['reset-circuit', 'changed', { claimedBy }, `**Circuit closed.** ${afresh}${goesOn}`],
    ['reset-circuit', 'as before', {}, `**The circuit was already closed.** ${afresh}`],
    ['reset-session', 'changed', {}, '**Session reset**: the agent begins a new conversation with the next iteration.'],
    [
      'reset-session',
      'as before',
      { claimedBy },
      '**No session to reset**: the agent begins a new conversation with the next iteration anyway.',
    ],
  ])('%s, %s', (order, was, change, expected) => {
    const lane: LaneView = { ...view, ...change, receipt: { order, changed: was === 'changed' } };
    expect(lines(renderLaneStatus(lane))[0]).toBe(expected);
    expect(describeLaneStatus(lane)[0]).not.toMatch(/[*`[\]]/);
  });

  test('who gave it is not pinged', () => {
    expect(renderLaneStatus({ ...view, ...pausedBy('octocat'), receipt: { order: 'pause', changed: true } })).toContain(
      'by @\u200Boctocat',
    );
  });
});

test('help is a command, in any case', () => {
  expect(parseCommand(' Help ')).toEqual({ kind: 'help' });
});

test.each([
  ['stauts', 'status'],
  ['STATUS', 'status'],
  ['sttus', 'status'],
  ['state', 'status'],
  ['rnu', 'run'],
  ['rum', 'run'],
  ['hlep', 'help'],
  ['deploy', null],
  ['', null],
  ['x'.repeat(10_000), null],
])('the command nearest to %j is %j', (word, nearest) => {
  expect(findNearestCommand(word)).toBe(nearest);
});
