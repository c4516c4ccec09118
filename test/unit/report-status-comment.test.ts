import { describe, expect, test } from 'vitest';
import type { LaneState } from '../../src/core/state.ts';
import { nearestCommand } from '../../src/report/nearest-command.ts';
import { REFUSAL_MARKER, renderAnswer, renderStatusComment, STATUS_MARKER, type LaneView } from '../../src/report/status-comment.ts';
import { END, OUTCOMES, report, taskReport } from './report-fixtures.ts';

const lines = (comment: string) => comment.replaceAll('\u200B', '').split('\n').filter((line) => line !== '');

const state: LaneState = {
  version: 1,
  lane: 'queue',
  sequence: 41,
  savedAt: END,
  circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: END - 600_000 },
  windows: { hour: null, day: null },
  signals: { indicators: [], vetoed: [], outputChars: [], doneInARow: 0, blockedInARow: 0, testOnlyInARow: 0 },
  session: null,
  tasks: {},
  currentTask: 'issue-13',
  park: { reason: 'usage_limit', resumeAt: END + 42 * 60_000, taskId: null, branchHead: null },
  pause: null,
  ledger: [],
  transitions: [],
  lastRun: { outcome: 'parked', reason: 'usage_limit', at: END - 600_000, published: null },
  lastIteration: null,
};

const view: LaneView = {
  lane: 'queue',
  state,
  tasks: [taskReport(12, { state: 'done', attempts: 1 }), taskReport(13, { title: 'Greet @octocat', state: 'in-progress', attempts: 2 })],
  circuit: 'open',
  probeAt: END + 20 * 60_000,
  callsRemaining: 93,
  pullRequest: { number: 7, url: 'https://github.com/acme/shop/pull/7' },
  taskLabel: 'ralph',
  runUrl: 'https://github.com/acme/shop/actions/runs/99',
  now: END,
};

describe('status comment', () => {
  test('on an issue: what happened, what next, this issue, where', () => {
    expect(lines(renderStatusComment(report({ kind: 'limit', reason: 'iterations' }), 'issue-12'))).toEqual([
      '<!-- ralph-action:status -->',
      '**Iteration limit.** Stopped at the limit of 10 iterations for one run, with 1 of 2 tasks done.',
      '**Next:** Nothing to do: the next scheduled run goes on from here. To do more in one run, raise `max-iterations`.',
      'This issue: ✅ done after 1 iteration, commit [`a1b2c3d`](https://github.com/acme/shop/commit/a1b2c3d4e5f60718293a4b5c6d7e8f9001122334), verification passed (8 s)',
      '`[███░░░]` 1 of 2 tasks done · 1 iteration · $0.12',
      'Where: pull request [#7](https://github.com/acme/shop/pull/7) · branch `ralph/queue` · [log of the run](https://github.com/acme/shop/actions/runs/99)',
      '<sub>2026-11-21 16:18 UTC</sub>',
    ]);
  });

  test('says when state was not saved', () => {
    const comment = renderStatusComment(report({ kind: 'limit', reason: 'iterations' }, { saved: { kind: 'not-saved', why: 'the cache is read-only for this event' } }), null);
    expect(comment).toContain('State was **not saved**: the cache is read-only for this event. The next run of this lane does not know what this one used and did.');
  });

  test('on the pull request it does not point at that pull request', () => {
    expect(lines(renderStatusComment(report({ kind: 'limit', reason: 'iterations' }), null))).toContain('Where: branch `ralph/queue` · [log of the run](https://github.com/acme/shop/actions/runs/99)');
  });

  test.each(OUTCOMES)('starts with its marker when the run ended $kind ($reason)', (outcome) => {
    expect(renderStatusComment(report(outcome, { lane: 'issue-12' }), null).split('\n')[0]).toBe(STATUS_MARKER);
  });
});

describe('answers', () => {
  test('/ralph status says how the lane stands', () => {
    expect(lines(renderAnswer({ kind: 'status' }, view))).toEqual([
      STATUS_MARKER,
      '**Status of lane `queue`**',
      '- `[███░░░]` 1 of 2 tasks done',
      '- Working on: Greet @octocat (2 iterations so far)',
      '- Last run: `parked (usage_limit)`, 2026-11-21 16:08 UTC',
      '- Circuit: open (`no_progress`); the first run after 2026-11-21 16:38 UTC (in 20 min) probes with one iteration',
      '- Calls left: 93',
      '- Parked (`usage_limit`): goes on from 2026-11-21 17:00 UTC (in 42 min)',
      '- Pull request: [#7](https://github.com/acme/shop/pull/7)',
      '<sub>2026-11-21 16:18 UTC, [run](https://github.com/acme/shop/actions/runs/99)</sub>',
    ]);
  });

  test('/ralph status on a lane that never ran', () => {
    const answer = lines(renderAnswer({ kind: 'status' }, { ...view, state: null, tasks: [], circuit: 'closed', probeAt: null, pullRequest: null }));
    expect(answer.slice(2, -1)).toEqual(['- No open issue has the label `ralph`.', '- Last run: none yet', '- Circuit: closed', '- Calls left: 93']);
  });

  test('an unknown command gets the help and the nearest match', () => {
    const answer = renderAnswer({ kind: 'help', word: 'stauts' }, view);
    expect(answer).toContain('There is no command `stauts`. Did you mean `/ralph status`?');
    expect(answer).toContain('- `/ralph run`: ');
    expect(answer).toContain('**Status of lane');
  });

  test('a foreign word in the help pings nobody and opens no comment', () => {
    const answer = renderAnswer({ kind: 'help', word: '@octocat<!--`' }, view);
    expect(answer).toContain('There is no command <code>&#x40;octocat&#x3c;&#x21;&#x2d;&#x2d;&#x60;</code>.');
  });

  test('a refusal does not overwrite the status', () => {
    const answer = renderAnswer({ kind: 'refusal', why: '`/ralph run` needs write permission, @octocat has read.' }, view);
    expect(lines(answer)).toEqual([REFUSAL_MARKER, '**Not done.** `/ralph run` needs write permission, @octocat has read.']);
    expect(answer).not.toContain('@octocat');
  });
});

test.each([
  ['stauts', 'status'],
  ['STATUS', 'status'],
  ['sttus', 'status'],
  ['state', 'status'],
  ['rnu', 'run'],
  ['rum', 'run'],
  ['deploy', null],
  ['', null],
  ['x'.repeat(10_000), null],
])('the command nearest to %j is %j', (word, nearest) => {
  expect(nearestCommand(word)).toBe(nearest);
});
