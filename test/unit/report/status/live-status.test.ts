import { expect, test } from 'vitest';
import { renderLiveStatus, STATUS_MARKER } from '../../../../src/report/pages/status-comment.ts';
import { policy } from '../../core/core-fixtures.ts';
import { END, entry, taskReport } from '../fixtures.ts';

const lines = (markdown: string): readonly string[] => markdown.split('\n').filter((line) => line !== '');

const tasks = [taskReport(12, { title: 'Greet @octocat', state: 'done' }), taskReport(13)];
const live = {
  doing: { kind: 'iterates', task: tasks[1]?.task ?? taskReport(13).task, iteration: 1, orders: [] },
  tasks,
  journal: [],
  limits: { ...policy, maxCostUsd: 5 },
  jobs: 'one',
  startedAt: END,
  now: END,
  runUrl: 'https://github.com/acme/shop/actions/runs/99',
  forecast: null,
} as const;

test('the first seconds: what is worked on, against which limits, and how to end it', () => {
  expect(lines(renderLiveStatus(live))).toEqual([
    STATUS_MARKER,
    '**🚧 Ralph is at work.** Iteration 1 of 10 began 2026-11-21 16:18 UTC: [#13](https://github.com/acme/shop/issues/13) Task 13 ([live log](https://github.com/acme/shop/actions/runs/99))',
    '`[███░░░]` 1 of 2 tasks done · 0 of 50 min · $0.00 of $5.00',
    '<sub>Updated with every iteration. To end the run after this iteration, comment `/ralph stop`.</sub>',
  ]);
});

test('later: what the last iteration came to, without a limit of money', () => {
  const later = renderLiveStatus({
    ...live,
    doing: { ...live.doing, iteration: 2 },
    journal: [entry(1, { verification: { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 } })],
    limits: { ...policy, maxCostUsd: 0 },
    now: END + 3 * 60_000,
  });
  expect(later).toMatch(/\nLast iteration: progress · .*`verify` \*\*failed\*\*: `npm test` exited with code 1 · /);
  expect(later).toMatch(/ · 3 of 50 min · \$[\d.]+\n/);
});

test('the cost of an agent that reports none is not known', () => {
  const later = renderLiveStatus({ ...live, journal: [entry(1, { analysis: { costUsd: null } })] });
  expect(later).toMatch(/ · 0 of 50 min · cost not known\n/);
  expect(later).not.toContain('$');
});

test('orders that were given in the meantime, and mention nobody', () => {
  const order = { number: 1, kind: 'pause', task: null, run: null, by: 'ann', from: 'comment', at: END } as const;
  const orders = [order, { ...order, kind: 'retry', task: 'issue-12', by: '@bob' } as const];
  expect(lines(renderLiveStatus({ ...live, doing: { ...live.doing, orders } }))[3]).toBe(
    'For the next run: `/ralph pause` of ann, `/ralph retry #12` of @\u200Bbob',
  );
});

test.each([
  ['the end of a limit', 'calls_per_hour', 'A limit is reached'],
  ['the circuit of a step', 'step_circuit', 'The circuit of a step is open'],
] as const)('while it waits for %s: until when, and with what it continues', (_, reason, why) => {
  const waits = { kind: 'waits', for: reason, task: live.doing.task, until: END + 60 * 60_000 } as const;
  expect(lines(renderLiveStatus({ ...live, doing: waits }))[1]).toBe(
    `**🚧 Ralph is at work.** ${why}, so the run waits until 2026-11-21 17:18 UTC, then continues with [#13](https://github.com/acme/shop/issues/13) Task 13 ([live log](https://github.com/acme/shop/actions/runs/99))`,
  );
});

test('of three jobs: nothing is updated until the end, and only cancelling ends it now', () => {
  expect(lines(renderLiveStatus({ ...live, jobs: 'three' })).at(-1)).toBe(
    '<sub>Updated when the run ends. To end it now, cancel [the run](https://github.com/acme/shop/actions/runs/99): what is finished is kept.</sub>',
  );
});
