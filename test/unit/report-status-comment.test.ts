import { describe, expect, test } from 'vitest';
import { COMMANDS, nearestCommand } from '../../src/core/command.ts';
import type { Lease } from '../../src/core/lease.ts';
import { REFUSAL_MARKER, renderAnswer, renderStatusComment, STATUS_MARKER } from '../../src/report/status-comment.ts';
import { END, laneState as state, laneView as view, OUTCOMES, report } from './report-fixtures.ts';

const lines = (comment: string) => comment.replaceAll('\u200B', '').split('\n').filter((line) => line !== '');

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
      '- Next: Greet @octocat (2 iterations so far)',
      '- Parked (`usage_limit`): goes on from 2026-11-21 17:00 UTC (in 42 min)',
      '- Circuit: open (`no_progress`); the first run after 2026-11-21 16:38 UTC (in 20 min) probes with one iteration; to close it now: `/ralph reset circuit`',
      '- Calls left: 93',
      '- Last run: `parked (usage_limit)`, 2026-11-21 16:08 UTC',
      '- State: restored #41 (cache and ref)',
      '- Pull request: [#7](https://github.com/acme/shop/pull/7)',
      'Last changes:',
      '- 2026-11-21 16:08 UTC, circuit: closed → open (no\\_progress)',
      '<sub>2026-11-21 16:18 UTC, [run](https://github.com/acme/shop/actions/runs/99)</sub>',
    ]);
  });

  test('/ralph status on a lane that never ran', () => {
    const answer = lines(renderAnswer({ kind: 'status' }, { ...view, state: null, restored: 'none yet (first run of this lane)', tasks: [], circuit: 'closed', probeAt: null, pullRequest: null }));
    expect(answer.slice(2, -1)).toEqual(['- No open issue has the label `ralph`.', '- Circuit: closed', '- Calls left: 93', '- Last run: none yet', '- State: none yet (first run of this lane)']);
  });

  const by = (login: string) => ({ ...view, state: { ...state, pause: { by: login, at: END - 60_000 } } });
  const working: Lease = { mark: 'm', runId: '98', runAttempt: 1, runUrl: 'https://github.com/acme/shop/actions/runs/98', acquiredAt: END - 600_000, durationMs: 3_600_000 };

  test('a paused lane: who, since when, and how to go on', () => {
    expect(lines(renderAnswer({ kind: 'status' }, by('octocat')))).toContain('- Paused by octocat, 2026-11-21 16:17 UTC; to go on: `/ralph resume`');
  });

  test('a lane that is worked on: by which run, and until when at the latest', () => {
    const answer = lines(renderAnswer({ kind: 'status' }, { ...view, working }));
    expect(answer).toContain('- A [run](https://github.com/acme/shop/actions/runs/98) works on this lane now, until 2026-11-21 17:08 UTC (in 50 min) at the latest');
    expect(answer).toContain('- Working on: Greet @octocat (2 iterations so far)');
  });

  test('a pause while a run works does not end that run', () => {
    expect(renderAnswer({ kind: 'status' }, { ...by('octocat'), working })).toContain('at the latest; it goes on to its end');
  });

  test('the last five changes, with who asked for them', () => {
    const transitions = Array.from({ length: 7 }, (_, index) => ({ at: END + index * 60_000, subject: 'pause' as const, from: 'working', to: 'paused', reason: `by person-${String(index)} (comment)` }));
    const answer = lines(renderAnswer({ kind: 'status' }, { ...view, state: { ...state, transitions } }));
    expect(answer.slice(answer.indexOf('Last changes:') + 1, -1)).toEqual([2, 3, 4, 5, 6].map((index) => `- 2026-11-21 16:${String(18 + index)} UTC, pause: working → paused (by person-${String(index)} (comment))`));
  });

  test('names and reasons that strangers chose are text', () => {
    const answer = renderAnswer({ kind: 'status' }, { ...by('@octocat <b>'), state: { ...state, pause: { by: '@octocat <b>', at: END }, transitions: [{ at: END, subject: 'session', from: 'a|b', to: '`c`', reason: 'by #12' }] } });
    expect(answer).toContain('Paused by @\u200Boctocat &lt;b&gt;');
    expect(answer).toContain('a\\|b → \\`c\\` (by #\u200B12)');
  });

  test.each(Object.keys(COMMANDS))('the help lists /ralph %s', (command) => {
    expect(renderAnswer({ kind: 'help', word: '' }, view)).toContain(`- \`/ralph ${command}\`: `);
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
