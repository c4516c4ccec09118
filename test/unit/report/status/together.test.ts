import { describe, expect, test } from 'vitest';
import type { StoredRun } from '../../../../src/core/snapshot/stored-run.ts';
import type { TrainPull } from '../../../../src/core/train/train.ts';
import type { ParallelEnd } from '../../../../src/handover/report.ts';
import { renderSteps } from '../../../../src/report/next/step.ts';
import { storedRun, storedTask } from '../../core/snapshot/fixtures.ts';
import {
  buildTogetherOutputs,
  renderTogether,
  renderTogetherLog,
  suggestTogether,
} from '../../../../src/report/pages/together.ts';

const run = storedRun({
  startedAt: 0,
  endedAt: 60_000,
  agent: { name: 'claude', version: '1' },
  tasks: [storedTask({ id: 'issue-3', title: 'Greet | <b>' })],
  iterations: 2,
  calls: 2,
  tokens: 100,
});

const BLOCKED = { outcome: { kind: 'blocked', reason: 'needs_human' } };
const LIMIT = { kind: 'limit', reason: 'iterations' };
const pull: TrainPull = {
  ...{ number: 12, branch: 'ralph/queue', head: 'a'.repeat(40), createdAt: 0, obstacle: null, needsReview: false },
  ...{ isReviewRequested: false, isArmed: false, conflictsWith: [], behind: 'no', stale: [] },
};

type Runs = readonly (Partial<StoredRun> | null)[];

/** Returns the ends of lanes, each with these facts of its run; null for a lane whose jobs published nothing. */
function togetherOf(...runs: Runs): ParallelEnd {
  return {
    lanes: runs.map((change, at) => {
      const lane = at === 0 ? 'queue' : `issue-${String(at)}`;
      return { lane, branch: `ralph/${lane}`, run: change === null ? null : { ...run, lane, ...change } };
    }),
    repositoryUrl: 'https://github.com/acme/shop',
    train: null,
  };
}

test('a table with a line for each branch, trouble first', () => {
  const together = togetherOf(
    {},
    { outcome: { kind: 'limit', reason: 'iterations' }, pullRequest: null, tasks: [], iterations: 1 },
    null,
  );
  expect(renderTogether(together).replaceAll('\u200B', '')).toBe(
    `## Ralph: 1 of 3 branches needs you

**Next:** Look at the logs of the jobs for issue #2. Review and merge #12. The next run continues what is unfinished.

| branch | end | tasks | pull request | iterations | cost |
| --- | --- | --- | --- | --- | --- |
| \`ralph/issue-2\` | failed: infrastructure |  |  | unknown | unknown |
| \`ralph/issue-1\` | iteration limit |  |  | 1 | $0.25 |
| \`ralph/queue\` | complete | ✅ Greet \\| &lt;b> | [#12](https://github.com/acme/shop/pull/12) | 2 | $0.25 |

- Issue #2: its jobs published nothing, so their logs say what happened.
- Cost: at least $0.50; what branches with an unknown cost have spent is not included.`,
  );
  const log = renderTogetherLog(together).split('\n');
  expect(log[0]).toBe('ralph/issue-2: failed: infrastructure, iterations unknown, cost unknown');
  expect(log.at(-1)).toContain('Review and merge #12.');
});

test('the headline counts branches, of which some may have waited for others', () => {
  expect(renderTogether(togetherOf({}, {}))).toContain('## Ralph: 2 branches in one run\n');
});

describe('the next step', () => {
  const next = (...runs: Runs): string => renderSteps(suggestTogether(togetherOf(...runs)), 'log');

  test.each<[string, string, Runs]>([
    ['of branches that need people', 'Look at what #12, #13 ask of you.', [BLOCKED, { ...BLOCKED, pullRequest: 13 }]],
    [
      'of one without a pull request',
      'Look at the logs of the jobs for the queue.',
      [{ ...BLOCKED, pullRequest: null }],
    ],
    ['of one that is ready', 'Review and merge #12.', [{}]],
    ['of one that a limit ended', 'The next run continues what is unfinished.', [{ outcome: LIMIT }]],
    ['where nothing was done', 'Nothing to do.', [{ outcome: { kind: 'idle', reason: 'all_done' } }]],
  ])('%s', (_, words, runs) => {
    expect(next(...runs)).toBe(words);
  });

  test('names pull requests that are ready in the order of the train', () => {
    const together = togetherOf({ pullRequest: 12 }, { pullRequest: 14 }, { pullRequest: 13 });
    expect(renderSteps(suggestTogether(together), 'log')).toBe('Review and merge #12, then #13, then #14.');
    const pulls = [14, 12, 13].map((number) => ({ ...pull, number, branch: `ralph/issue-${String(number)}` }));
    const train = { pulls, isCompared: true, autoMerge: null, closed: [] };
    expect(renderSteps(suggestTogether({ ...together, train }), 'log')).toBe(
      'Review and merge #14, then #12, then #13.',
    );
    expect(renderTogether({ ...together, train })).toContain('- Merge #14 next: it conflicts with none of the others');
  });
});

test('outputs: the worst outcome, sums, and a pull request only where there is one', () => {
  const one = buildTogetherOutputs(
    togetherOf({}, { outcome: { kind: 'halted', reason: 'safety' }, pullRequest: null }),
  );
  expect(one).toMatchObject({
    ...{ outcome: 'halted', reason: 'safety', iterations: '4', 'tasks-done': '2', 'cost-usd': '0.5000', tokens: '200' },
    ...{ branch: 'ralph/queue', 'head-sha': run.head, 'pr-number': '12' },
    'pr-url': 'https://github.com/acme/shop/pull/12',
  });
  expect(buildTogetherOutputs(togetherOf({}, {}))).toMatchObject({ outcome: 'complete', branch: '', 'pr-number': '' });
  expect(JSON.parse(buildTogetherOutputs(togetherOf({}, null))['status-json'] ?? '')).toMatchObject([
    { branch: 'ralph/queue', outcome: 'complete', pr_number: 12 },
    { branch: 'ralph/issue-1', outcome: 'failed', pr_number: null },
  ]);
});

test.each([
  ['of lost jobs', null],
  ['of a model without a price', { costUsd: 0 }],
])('a cost %s is unknown, and so is the sum', (_, change) => {
  const outputs = buildTogetherOutputs(togetherOf({}, change));
  expect(outputs['cost-usd']).toBe('');
  expect(JSON.parse(outputs['status-json'] ?? '')).toMatchObject([{ cost_usd: 0.25 }, { cost_usd: null }]);
  expect(buildTogetherOutputs(togetherOf({}, { costUsd: 0, tokens: 0 }))['cost-usd']).toBe('0.2500');
});
