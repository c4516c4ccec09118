import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/journal.ts';
import { issueOfTask, type TaskObstacle } from '../../../src/core/tasks/task.ts';
import { createLanelessReport, type TaskReport } from '../../../src/handover/report.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { READ_ONLY_EVENT } from '../../../src/state/cache-environment.ts';
import { answer, END, entry, laneView, OUTCOMES, planTask, report, taskReport } from './fixtures.ts';

function withObstacle(number: number, obstacle: TaskObstacle): TaskReport {
  const { task, ...others } = taskReport(number);
  return { task: { ...task, obstacle }, ...others };
}

const limit = { kind: 'limit', reason: 'iterations' } as const;

test('begins with the outcome and what to do next', () => {
  expect(renderSummary(report(limit)).split('\n').slice(0, 5)).toEqual([
    '## Ralph: Iteration limit',
    '',
    'Stopped at the limit of 10 iterations for one run. ✅ `npm test` passes.',
    '',
    '**Next:** Nothing to do: the next scheduled run continues from here. A higher `max-iterations` lets one run do more.',
  ]);
});

test('lists everything found of other Ralphs, up to more lines than any of them needs', () => {
  const found = Array.from({ length: 41 }, (_, at) => `\`file-${String(at)}\`: ${'x'.repeat(520)}.`);
  const summary = renderSummary({ ...report(limit), found });
  expect(summary).toContain('`file-39`');
  expect(summary).toContain('… and 1 more');
  expect(summary.split('\n').filter((line) => line.startsWith('- `file-') && line.endsWith('x.'))).toHaveLength(40);
});

test.each<[JournalEntry['evidence']['end'], string]>([
  [{ kind: 'exited', code: 1 }, 'The agent ended with an error (server): `The provider answered HTTP 529.`'],
  [{ kind: 'stalled' }, "The agent's call was ended: `The provider answered HTTP 529.`"],
])('says of a call that failed (%o): %s', (end, line) => {
  const failed = entry(1, {
    analysis: { agentError: { kind: 'server', text: 'The provider answered HTTP 529.' } },
    evidence: { end },
  });
  expect(renderSummary(report(limit, { iterations: [failed] }))).toContain(line);
});

test('says what it cost, and has every iteration: its task only where there are several', () => {
  const nothing = { files: [], fileCount: 0, insertions: 0, deletions: 0, verification: { kind: 'not-run' } } as const;
  const first = entry(1, { verdict: { taskDone: true } });
  const second = entry(2, {
    taskNumber: 13,
    commit: null,
    analysis: { costUsd: 0.06, tokens: null },
    evidence: nothing,
    verdict: { progress: false },
  });
  const commit = '[`a1b2c3d`](https://github.com/acme/shop/commit/a1b2c3d4e5f60718293a4b5c6d7e8f9001122334)';
  const shown = (iterations: readonly JournalEntry[]) =>
    renderSummary(report(limit, { iterations })).replaceAll('\u00A0', ' ').replaceAll('\u200B', '');
  expect(shown([first, second])).toContain(
    [
      `- Iteration 1 on [#12](https://github.com/acme/shop/issues/12): task done ✅, 1 file (+20 −1), ${commit}, 2 min, $0.12`,
      '- Iteration 2 on [#13](https://github.com/acme/shop/issues/13): no progress, no files, 2 min, $0.06',
      '',
      'The [log of the run](https://github.com/acme/shop/actions/runs/99) has a group for each iteration.',
    ].join('\n'),
  );
  expect(shown([first])).toContain('- Iteration 1: task done ✅, ');
  expect(shown([first])).toContain(
    '**Cost:** $0.12 of $5.00, 12.3k tokens · 1 iteration in 10 min · [pull request #7](https://github.com/acme/shop/pull/7)',
  );
});

test('a timeline where the iterations took different times, none where it shows nothing', () => {
  const of = (...minutes: readonly number[]) =>
    renderSummary(
      report(limit, {
        iterations: minutes.map((length, index) => {
          const one = entry(index + 1, { verdict: { progress: index !== 1 } });
          return { ...one, endedAt: one.startedAt + length * 60_000 };
        }),
      }),
    );
  expect(of(1, 1, 3)).toMatch(
    /```mermaid\ngantt\n( {4}\w+ .*\n){3} {4}section issue-12\n {4}1 :\d+, \d+\n {4}2 :crit, \d+, \d+\n {4}3 :\d+, \d+\n```/,
  );
  for (const even of [of(2, 2, 2), of(1, 3)]) expect(even).not.toContain('mermaid');
});

test('says in one line where the state came from and where it went', () => {
  expect(renderSummary(report(limit)).replaceAll('\u200B', '')).toContain(
    '| State | restored #40 (cache and ref) … saved #41 (cache ✓ ref ✓) |',
  );
});

test('does not repeat at length that the event may not write the cache while the ref has the state', () => {
  const shown = (where: string) =>
    renderSummary(report(limit, { saved: { kind: 'saved', sequence: 41, where } })).replaceAll('\u200B', '');
  expect(shown(`cache ✗: ${READ_ONLY_EVENT}, ref ✓`)).toContain('saved #41 (cache ✗ (read-only event) ref ✓) |');
  expect(shown('cache ✗: the cache service answered 503, ref ✓')).toContain(
    'saved #41 (cache ✗: the cache service answered 503, ref ✓) |',
  );
});

test('links runs and comments of this repository, and no other address', () => {
  const rendered = (message: string) =>
    renderSummary(report({ kind: 'refused', reason: 'another_run', message }))
      .replaceAll('\u200B', '')
      .split('\n')[2];
  expect(rendered('It is https://github.com/acme/shop/actions/runs/98. Wait.')).toBe(
    'It is [run 98](https://github.com/acme/shop/actions/runs/98). Wait.',
  );
  expect(rendered('See https://github.com/acme/shop/issues/1#issuecomment-41')).toBe(
    'See [#1 (comment)](https://github.com/acme/shop/issues/1#issuecomment-41)',
  );
  for (const address of [
    'https://github.com/acme/shop/actions/runs/98/evil',
    'https://github.com/acme/shop/issues/1',
    'https://github.com/acme/shop/issues/1#issuecomment-41/evil',
    'https://github.com/acme/other/issues/1#issuecomment-41',
    'https://github.com/acme/other/actions/runs/98',
    'https://evil.example/actions/runs/98',
  ])
    expect(rendered(`It is ${address} now.`)).toBe(`It is ${address} now.`);
});

test('of a run that was asked how the lane stands reports that, and not how the run stands', () => {
  const summary = renderSummary(answer(laneView)).replaceAll('\u200B', '');
  expect(summary).toContain('**Status of the queue**');
  expect(summary).toContain('- State: restored #41 (cache and ref)');
  expect(summary).not.toContain('RALPH_STATUS');
});

describe('tasks that do not continue', () => {
  const failing = { kind: 'failed', command: 'npm test', code: 1, tail: '1 failing', durationMs: 10 } as const;
  const failed = report(limit, {
    tasks: [
      planTask(7, { title: 'Greet', state: 'failed', attempts: 8 }),
      withObstacle(13, 'needs-approval'),
      withObstacle(14, 'unchecked'),
      withObstacle(15, 'unchecked'),
      taskReport(16, { state: 'failed', attempts: 8 }),
    ],
    iterations: [1, 2, 3, 4].map((iteration) =>
      entry(iteration, {
        taskId: 'plan-00000007',
        verification: failing,
        recommendation: iteration === 3 ? 'Mend @octocat' : undefined,
        verdict: { discrepancies: iteration === 4 ? ['It said that `npm test` passes.'] : [] },
      }),
    ),
  });

  test('a task that failed in this run: its last attempt, and what a person can do', () => {
    const summary = renderSummary(failed).replaceAll('\u200B', '');
    expect(summary).toContain(
      [
        '### Tasks that need a person',
        '#### `.ralph/fix_plan.md:7`: Greet',
        '**“Greet” is not done after 8 calls; you are needed.** `max-iterations-per-task` is 8.',
        'The agent says: “Mend @octocat”',
        'What was tried last:',
        [2, 3, 4]
          .map(
            (iteration) =>
              `- Iteration ${String(iteration)}: progress; changed \`src/greeting.ts\` (+20 −1); verification **failed**: \`npm test\` exited with code 1${iteration === 4 ? '; It said that `npm test` passes.' : ''}`,
          )
          .join('\n'),
        '<details>\n<summary>Last output of <code>npm test</code></summary>\n\n```text\n1 failing\n```\n\n</details>',
        'What you can do:',
        '- `verify` never passed (`npm test`): see what it printed, and fix it if it cannot pass.\n- Make the task smaller or clearer, or say what the agent should know: below the title in `.ralph/fix_plan.md:7` (another title makes it another task).\n- If it only needs more iterations, raise `max-iterations-per-task`.\n- Then comment `/ralph retry` on the pull request: the task gets all its iterations again.',
      ].join('\n\n'),
    );
    expect(summary).not.toContain('#### [#16]');
  });

  test('an agent that forgot its status block is quoted with how its message ended', () => {
    const { iterations } = failed;
    const wordless = iterations.map((one) => ({
      ...one,
      analysis: { ...one.analysis, signal: { ...one.analysis.signal, recommendation: null, lastWords: 'No key.' } },
    }));
    expect(renderSummary({ ...failed, iterations: wordless })).toContain('The agent says: “No key.”');
  });

  test('waiting tasks with their reasons, and the number of unchecked ones', () => {
    expect(renderSummary(failed).replaceAll('\u200B', '')).toContain(
      '### What tasks wait for\n\n- #13 (Task 13): its text was changed after it was approved: add the label, or remove and re-add it\n- 2 tasks further down have not been looked at yet\n',
    );
  });

  test('without a thread a retry is dispatched', () => {
    expect(renderSummary({ ...failed, pullRequest: null })).toContain(
      'Then run the workflow by hand with the command `retry`:',
    );
  });
});

test('ends with what the run asked of GitHub', () => {
  expect(renderSummary(report(limit))).toMatch(
    /\n\n<sub>GitHub API: 14 requests; 986 of 1,000 left until 17:00 UTC\.<\/sub>\n\n<\/details>$/,
  );
  expect(renderSummary(report(limit, { requests: null }))).not.toContain('GitHub API');
});

test('groups problems by what happened, and says which rule allows what was denied', () => {
  const claim = 'It reported TESTS_STATUS: PASSING, but the verification failed.';
  const denied = { denials: [{ tool: 'Bash', command: 'cargo test' }] };
  const summary = renderSummary(
    report(limit, {
      iterations: [1, 2, 3, 5].map((iteration) =>
        entry(iteration, {
          analysis: iteration < 3 ? denied : {},
          verdict:
            iteration === 1
              ? { vetoes: ['1 task is open'], advice: ['`cd a && npm test`'] }
              : { discrepancies: [claim] },
        }),
      ),
    }),
  );
  expect(summary).toContain(
    '### Problems\n\n- Iteration 1: 1 task is open\n- Iterations 2–3, 5: The agent said that the tests pass; they failed.\n',
  );
  expect(summary).toContain(
    '### Denied tools\n\n- Iterations 1–2: `cargo test` was denied. This allows it: `allowed-tools: +Bash',
  );
  expect(summary).toContain('- Iteration 1: `cd a && npm test`');
  expect(summary.split('\n').slice(0, 5).join('\n')).toContain('The agent was denied a tool 2 times');
});

test('says when main was killed', () => {
  expect(renderSummary(report({ kind: 'cancelled', reason: 'killed' }))).toContain(
    'The job was killed after 1 finished iteration; the iteration that was running is lost.',
  );
});

test('lists all problems of the configuration, and no table of nothing', () => {
  const outcome = {
    kind: 'failed',
    reason: 'configuration',
    message: '2 problems:\n- `max-iterations` is `ten`\n- `verifi` is no input',
  } as const;
  const summary = renderSummary(
    createLanelessReport({
      outcome,
      repositoryUrl: 'https://github.com/a/b',
      runUrl: 'https://github.com/a/b/actions/runs/1',
      startedAt: END,
      endedAt: END,
    }),
  );
  expect(summary).toContain('- `max-iterations` is `ten`\n- `verifi` is no input');
  expect(summary).not.toContain('RALPH_STATUS');
});

describe('for every outcome', () => {
  test.each(OUTCOMES)('$kind ($reason) has a summary without holes', (outcome) => {
    for (const some of [report(outcome), report(outcome, { iterations: [], tasks: [] })]) {
      expect(renderSummary(some)).toMatch(/^## Ralph: \w/);
      expect(renderSummary(some)).not.toMatch(/undefined|NaN|\n\n\n/);
    }
  });
});

test('stays far below 1 MiB for a run of a thousand iterations over a thousand tasks', () => {
  const tasks = Array.from({ length: 1000 }, (_, index) => taskReport(index + 1, { title: '界<'.repeat(200) }));
  const iterations = tasks.map(({ task }, index) =>
    entry(index + 1, {
      taskNumber: issueOfTask(task) ?? 0,
      taskTitle: task.title,
      verdict: { discrepancies: ['<'.repeat(1000)] },
    }),
  );
  const summary = renderSummary(report(limit, { tasks, iterations }));
  expect(Buffer.byteLength(summary)).toBeLessThan(700_000);
  expect(summary).toContain('The first 940 are not shown.');
});
