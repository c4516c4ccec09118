import { expect, test } from 'vitest';
import type { StoredRun } from '../../../../src/core/snapshot/stored-run.ts';
import type { Together } from '../../../../src/handover/together.ts';
import { storedRun, storedTask } from '../../core/snapshot/fixtures.ts';
import { buildTogetherOutputs, renderTogether, renderTogetherLog } from '../../../../src/report/pages/together.ts';

const run = storedRun({
  startedAt: 0,
  endedAt: 60_000,
  agent: { name: 'claude', version: '1' },
  tasks: [storedTask({ id: 'issue-3', title: 'Greet | <b>' })],
  iterations: 2,
  calls: 2,
  tokens: 100,
});

/** Returns the ends of lanes, each with these facts of its run; null for a lane whose jobs published nothing. */
function togetherOf(...runs: readonly (Partial<StoredRun> | null)[]): Together {
  return {
    lanes: runs.map((change, at) => {
      const lane = at === 0 ? 'queue' : `issue-${String(at)}`;
      return { lane, branch: `ralph/${lane}`, run: change === null ? null : { ...run, lane, ...change } };
    }),
    repositoryUrl: 'https://github.com/acme/shop',
  };
}

test('a table with a line for each branch, trouble first', () => {
  const together = togetherOf(
    {},
    { outcome: { kind: 'limit', reason: 'iterations' }, pullRequest: null, tasks: [], iterations: 1 },
    null,
  );
  expect(renderTogether(together)).toBe(
    `## Ralph: 1 of 3 branches needs you

| branch | end | tasks | pull request | iterations | cost |
| --- | --- | --- | --- | --- | --- |
| \`ralph/issue-2\` | failed: infrastructure |  |  | unknown | unknown |
| \`ralph/issue-1\` | iteration limit |  |  | 1 | $0.25 |
| \`ralph/queue\` | complete | ✅ Greet \\| &lt;b> | [#12](https://github.com/acme/shop/pull/12) | 2 | $0.25 |

- Issue #2: its jobs published nothing, so their logs say what happened. The next run continues from what was saved before.`,
  );
  expect(renderTogetherLog(together).split('\n')[0]).toBe(
    'ralph/issue-2: failed: infrastructure, iterations unknown, cost unknown',
  );
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
