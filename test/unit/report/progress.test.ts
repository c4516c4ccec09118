import { describe, expect, test } from 'vitest';
import {
  renderApiUsage,
  formatCost,
  formatDuration,
  formatInstantFrom,
  formatTokens,
  renderProgressBar,
} from '../../../src/report/format.ts';
import { renderClosingBlock, renderIterationEnd, renderProgressLine } from '../../../src/report/pages/progress.ts';
import type { RequestsSent } from '../../../src/ports/forge.ts';
import { answer, END, entry, laneView, OUTCOMES, report, type EntryChange } from './fixtures.ts';

test.each([
  [0, 0, '[░░░░░░]'],
  [0, 100, '[░░░░░░]'],
  [1, 100, '[█░░░░░]'],
  [4, 6, '[████░░]'],
  [99, 100, '[█████░]'],
  [6, 6, '[██████]'],
])('the bar for %i of %i is %s: full only when all is done', (done, total, bar) => {
  expect(renderProgressBar(done, total)).toBe(bar);
});

test('a progress line is one line', () => {
  expect(renderProgressLine({ done: 4, total: 6, title: 'Ship\n::error::it' })).toBe('[████░░] 4/6 Ship ::error::it');
});

describe('one line per iteration', () => {
  const nothing = { files: [], fileCount: 0, insertions: 0, deletions: 0 } as const;
  test.each<readonly [string, EntryChange, string]>([
    [
      'done',
      { verdict: { taskDone: true } },
      'iteration 1: task done · 1 file +20 −1 · verify passed · 2 min · 12.3k tokens · $0.12',
    ],
    ['progress', {}, 'iteration 1: progress · 1 file'],
    ['tests only', { verdict: { testOnly: true } }, 'progress, tests only'],
    [
      'nothing changed',
      {
        evidence: { ...nothing, verification: { kind: 'not-run' } },
        verdict: { progress: false, circuit: 'half-open' },
      },
      'iteration 1: no progress · nothing changed · 2 min · 12.3k tokens · $0.12 · circuit half-open',
    ],
    [
      'a failing command',
      { verification: { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 } },
      'verify failed (npm test: 1)',
    ],
    [
      'a command that ran out of time',
      { verification: { kind: 'failed', command: 'npm test', code: null, tail: '', durationMs: 1 } },
      'verify failed (npm test: out of time)',
    ],
    ['a timeout with progress', { evidence: { end: { kind: 'timeout', of: 'call' } } }, 'progress, then timed out'],
    [
      'a timeout without',
      { evidence: { ...nothing, end: { kind: 'timeout', of: 'call' } }, verdict: { progress: false } },
      'iteration 1: timed out',
    ],
    [
      'an agent error',
      { analysis: { agentError: { kind: 'auth', text: 'x' } }, verdict: { progress: false } },
      'agent error (auth)',
    ],
    ['a denial', { verdict: { progress: false, countedDenials: 1 } }, 'permission denied'],
    ['a question', { verdict: { progress: false, questionOnly: true } }, 'only asked a question'],
    ['unknown cost is left out', { analysis: { tokens: null, costUsd: null } }, 'verify passed · 2 min'],
  ])('%s', (_rule, change, line) => {
    expect(renderIterationEnd(entry(1, change))).toContain(line);
    expect(renderIterationEnd(entry(1, change))).not.toContain('\n');
  });
});

test('the log closes with outcome, numbers, places and what to do next', () => {
  expect(renderClosingBlock(report({ kind: 'limit', reason: 'iterations' })).split('\n')).toEqual([
    'Ralph: Iteration limit',
    'Stopped at the limit of 10 iterations for one run. ✅ npm test passes.',
    'Next: Nothing to do: the next scheduled run continues from here. A higher max-iterations lets one run do more.',
    '[███░░░] 1/2 tasks done',
    '1 iteration in 10 min, $0.12, 12.3k tokens',
    'pull request: https://github.com/acme/shop/pull/7',
    'circuit: closed, calls left: 99',
    'GitHub API: 14 requests; 986 of 1,000 left until 17:00 UTC.',
  ]);
});

test('the log of a run that was asked how the lane stands reports that', () => {
  const state = laneView.state === null ? null : { ...laneView.state, pause: { by: 'octo\u001b[31mcat', at: END } };
  expect(renderClosingBlock(answer({ ...laneView, state })).split('\n')).toEqual([
    'Ralph: Answered',
    'The command was answered; no call was made.',
    '[███░░░] 1 of 2 tasks done',
    'Next: Greet @octocat (2 iterations so far)',
    'Paused by octocat, 2026-11-21 16:18 UTC; to continue: /ralph resume',
    'Waits for a limit (usage_limit): continues after 2026-11-21 17:00 UTC (in 42 min)',
    'Circuit: open (no_progress); the first run after 2026-11-21 16:38 UTC (in 20 min) tries one iteration; to continue at once: /ralph retry',
    'This hour, used or reserved: 7 of 100 calls, 34.5k of 500.0k tokens, until 2026-11-21 17:00 UTC (in 42 min)',
    'This day (UTC), used or reserved: $8.20 of $20.00, until 2026-11-22 00:00 UTC (in 7 h 42 min)',
    'Last run: waiting for a limit to reset: usage at the provider, 2026-11-21 16:08 UTC',
    'State: restored #41 (cache and ref)',
    'Pull request: #7 (https://github.com/acme/shop/pull/7)',
    'change: 2026-11-21 16:08 UTC, circuit: closed → open (no_progress)',
    'GitHub API: 14 requests; 986 of 1,000 left until 17:00 UTC.',
  ]);
});

test.each(OUTCOMES)('the log closes without holes when the run ended $kind ($reason)', (outcome) => {
  expect(renderClosingBlock(report(outcome, { saved: { kind: 'not-saved', why: 'the cache\nis read-only' } }))).toMatch(
    /^Ralph: [\s\S]*\nNext: [^\n]+\n[\s\S]*state: restored #40 \(cache and ref\) … NOT saved: the cache is read-only\nGitHub API: [^\n]+$/,
  );
});

test.each<[RequestsSent, string]>([
  [{ sent: 0, limit: 1000, remaining: 1000, resetAt: END }, ''],
  [{ sent: 1, limit: null, remaining: null, resetAt: null }, 'GitHub API: 1 request.'],
  [
    { sent: 14, limit: 1000, remaining: 986, resetAt: END },
    'GitHub API: 14 requests; 986 of 1,000 left until 16:18 UTC.',
  ],
  [{ sent: 1234, limit: 15_000, remaining: 0, resetAt: null }, 'GitHub API: 1,234 requests; 0 of 15,000 left.'],
])('what the run asked of GitHub, %j, is reported as %j', (usage, rendered) => {
  expect(renderApiUsage(usage)).toBe(rendered);
});

test.each([
  [formatDuration(8_000), '8 s'],
  [formatDuration(65_000), '1 min 5 s'],
  [formatDuration(600_000), '10 min'],
  [formatDuration(7_380_000), '2 h 3 min'],
  [formatCost(0), '$0.00'],
  [formatCost(0.0123), '$0.01'],
  [formatCost(0.004), '< $0.01'],
  [formatDuration(400), '< 1 s'],
  [formatCost(12.345), '$12.35'],
  [formatTokens(950), '950'],
  [formatTokens(12_345), '12.3k'],
  [formatTokens(999_960), '1.0M'],
  [formatInstantFrom(END + 1, END), '2026-11-21 16:18 UTC (in 1 min)'],
  [formatInstantFrom(END, END), '2026-11-21 16:18 UTC'],
])('%s is written as %s', (written, expected) => {
  expect(written).toBe(expected);
});
