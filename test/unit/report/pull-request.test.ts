import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { issueOfTask } from '../../../src/core/tasks/task.ts';
import { renderPullRequestBody, renderPullRequestTitle } from '../../../src/report/pages/pull-request.ts';
import type { TaskReport } from '../../../src/handover/report.ts';
import { parseHiddenStatus } from '../../../src/report/pages/status-json.ts';
import { entry, OUTCOMES, planTask, report, taskReport } from './fixtures.ts';
import { runs } from '../../runs.ts';

const complete = { kind: 'complete', reason: 'plan_complete' } as const;

/** A task that waits for approval, and depends on another. */
function waiting(number: number, title: string): TaskReport {
  const { task, progress, share } = taskReport(number, { title });
  return { task: { ...task, obstacle: 'needs-approval', dependsOn: ['issue-99'] }, progress, share };
}

/** What a reader sees: without the hidden part and the invisible breakers. */
const shown = (body: string) => body.replace(/<!--.*?-->/gs, '').replaceAll('\u200B', '');

describe('title', () => {
  test.each([
    ['names the task', [taskReport(1, { title: 'Greet', attempts: 1 })], 'Ralph: Greet'],
    [
      'counts the others that were worked on',
      [taskReport(1, { title: 'Greet', state: 'done' }), taskReport(2, { attempts: 1 }), taskReport(3)],
      'Ralph: Greet and 1 more',
    ],
    [
      'names a task that waits when none was started',
      [taskReport(1, { title: 'Greet' }), taskReport(2)],
      'Ralph: Greet and 1 more',
    ],
    ['does without tasks', [], 'Ralph: work in progress'],
    [
      'is one line, and closes nothing as a commit message',
      [taskReport(1, { title: 'Fixes\n#12', attempts: 1 })],
      'Ralph: Fixes #\u200B12',
    ],
  ])('%s', (_rule, tasks, title) => {
    expect(renderPullRequestTitle(report(complete, { tasks }))).toBe(title);
  });
});

describe('body', () => {
  test('names first what a reviewer looks at first, the most important thirty', () => {
    const lookAt = [
      { path: 'a`|b.test.ts', why: 'a test is skipped' },
      ...Array.from({ length: 34 }, (_, i) => ({ path: `p${i}/AGENTS.md`, why: 'it instructs @agents' })),
    ];
    const body = shown(renderPullRequestBody(report(complete, { lookAt })));
    const [, section = ''] = body.split('### Look at first');
    expect(body.indexOf('### Look at first')).toBeLessThan(body.indexOf('### What was done'));
    expect(section.split('###')[0]?.trim().split('\n')).toHaveLength(33);
    expect(section).toContain('a test is skipped');
    expect(section).toContain('- `p28/AGENTS.md`: it instructs');
    expect(section).toContain('- … and 5 more');
    expect(renderPullRequestBody(report(complete, { lookAt }))).not.toMatch(/@agents/);
    expect(renderPullRequestBody(report(complete))).not.toContain('Look at first');
  });

  test('says what was done, with evidence', () => {
    const body = shown(
      renderPullRequestBody(
        report(complete, {
          iterations: [entry(1, { recommendation: 'Try @octocat, fixes #99', verdict: { taskDone: true } })],
        }),
      ),
    );
    for (const part of [
      '**Complete.** Everything required is done (1 of 2 tasks). ✅ `npm test` passes.',
      '**Next:** Review the pull request and merge it.',
      '**Greet people by name** ([#12](https://github.com/acme/shop/issues/12)): ✅ done',
      'Files: `src/greeting.ts`',
      'The agent says: “Try @octocat, fixes #99”',
      'Not started: Task 13',
      '| Iterations | 1 of 10, 10 min |',
      '| Calls left | 99 of 100 this hour |',
      '| Circuit | closed |',
      '| Session | resumed, 2 h old |',
      '| Tests | passing: `npm test` |',
      '| Cost | $0.12, 12.3k tokens |',
      '| State | restored #40 (cache and ref) … saved #41 (cache ✓ ref ✓) |',
      '| [#12](https://github.com/acme/shop/issues/12) | [`a1b2c3d`](https://github.com/acme/shop/commit/a1b2c3d4e5f60718293a4b5c6d7e8f9001122334) | 1 file, +20 −1 | passed (8 s) | 1 | $0.12 |',
    ])
      expect(body).toContain(part);
  });

  test('closes done issues only; a started one is mentioned, an untouched one is not', () => {
    const tasks = [
      taskReport(1, { state: 'done', attempts: 1 }),
      taskReport(2, { state: 'in-progress', attempts: 2 }),
      taskReport(3, { state: 'failed', attempts: 8 }),
      taskReport(4),
    ];
    const references = renderPullRequestBody(report({ kind: 'limit', reason: 'iterations' }, { tasks })).match(
      /^.*(?<!\[)#\d+$/gm,
    );
    expect(references).toEqual(['Closes #1', 'Part of #2', 'Part of #3']);
  });

  test('says which done task of a file nothing marks', () => {
    const tasks = [
      planTask(7, { title: 'Greet', state: 'done', attempts: 1 }),
      planTask(9, { title: 'Part', state: 'done', attempts: 1 }),
    ];
    const body = shown(renderPullRequestBody(report(complete, { tasks, iterations: [], unmarked: ['plan-00000009'] })));
    expect(body.match(/^.*\n.*Not marked as done in this branch's file: do that after merging$/gm)).toEqual([
      expect.stringContaining('**Part**'),
    ]);
  });

  test('names tasks of files by their place, and closes nothing for them', () => {
    const body = renderPullRequestBody(
      report(complete, {
        tasks: [planTask(7, { title: 'Greet', state: 'done', attempts: 1 }), planTask(9, { attempts: 1 })],
        iterations: [entry(1, { taskId: 'plan-00000007' })],
      }),
    );
    expect(body).toContain('- **Greet** (`.ralph/fix_plan.md:7`): ✅ done');
    expect(body).toContain('| `.ralph/fix_plan.md:7` | [`a1b2c3d`]');
    expect(body).not.toMatch(/Closes|Part of/);
  });

  test.each([
    [['issue-4'], '- 1 task of this branch is not in the queue any more, and nothing here closes it: `issue-4`.'],
    [
      ['issue-4', 'plan-0a1b2c3d'],
      '- 2 tasks of this branch are not in the queue any more, and nothing here closes them: `issue-4`, `plan-0a1b2c3d`.',
    ],
  ])('says which tasks of the branch are not listed any more: %j', (unlisted, line) => {
    expect(shown(renderPullRequestBody(report(complete, { unlisted })))).toContain(line);
  });

  test('shows a contradicted claim, a withheld file, a warning and the failing output', () => {
    const body = shown(
      renderPullRequestBody(
        report(
          { kind: 'limit', reason: 'iterations' },
          {
            iterations: [
              entry(1, {
                verification: { kind: 'failed', command: 'npm test', code: 1, tail: '✖ greets\n', durationMs: 10 },
                verdict: { discrepancies: ['tests PASSING, but `npm test` ended with 1'] },
              }),
            ],
            withheld: [{ path: 'a|b.env', why: 'holds a key' }],
            warnings: ['no transcript'],
            saved: { kind: 'not-saved', why: 'the cache is read-only' },
          },
        ),
      ),
    );
    for (const part of [
      '- Iteration 1: tests PASSING, but `npm test` ended with 1',
      '| <code>a&#x7c;b&#x2e;env</code> | holds a key |',
      '- no transcript',
      '<summary>Last output of <code>npm test</code></summary>\n\n```text\n✖ greets\n```',
      '| Tests | **failed**: `npm test` ended with 1 |',
      '**not saved**: the cache is read-only',
    ])
      expect(body).toContain(part);
  });

  test('without a verify command the agent only says that tests pass', () => {
    const body = renderPullRequestBody(
      report(complete, { verifyCommands: [], iterations: [entry(1, { verification: { kind: 'not-run' } })] }),
    );
    expect(body).toContain('| Tests | not run (no `verify` command); the agent says they are passing |');
  });

  test.each(OUTCOMES)('carries the hidden status of a run that ended $kind ($reason)', (outcome) => {
    expect(parseHiddenStatus(renderPullRequestBody(report(outcome)))).toMatchObject({
      kind: 'found',
      status: { outcome: outcome.kind, reason: outcome.reason },
    });
  });

  test('too long: whole sections go, least important first, and the body says which', () => {
    const long = '`'.repeat(5000);
    const tasks = Array.from({ length: 300 }, (_, index) =>
      taskReport(index + 1, { title: '<'.repeat(200), state: 'done', attempts: 1 }),
    );
    const iterations = tasks.map(({ task }, index) =>
      entry(index + 1, {
        taskNumber: issueOfTask(task) ?? 0,
        recommendation: '<'.repeat(400),
        verification: { kind: 'failed', command: long, code: 1, tail: long, durationMs: 1 },
        evidence: { files: Array.from({ length: 200 }, (_one, file) => `${file}${'|'.repeat(200)}`), fileCount: 200 },
      }),
    );
    const body = renderPullRequestBody(report(complete, { tasks, iterations }));
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body).toMatch(
      /\*Left out to stay within GitHub's size limit: verification output, .*what was done\. The job log has more\.\*/,
    );
    expect(body).toContain('Closes #300');
    expect(parseHiddenStatus(body)).toMatchObject({ kind: 'found', status: { tasksDone: 300 } });
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

  test('a body fits, keeps its status, opens no comment but its own, pings and closes nothing', () => {
    fc.assert(
      fc.property(
        fc.array(nasty, { minLength: 8, maxLength: 8 }),
        fc.constantFrom(...OUTCOMES),
        ([a = '', b = '', c = '', d = '', e = '', f = '', g = '', h = ''], outcome) => {
          const body = renderPullRequestBody(
            report('message' in outcome ? { ...outcome, message: h } : outcome, {
              tasks: [
                taskReport(12, { title: a, state: 'done', attempts: 1 }),
                waiting(13, a),
                planTask(7, { title: b, state: 'failed', attempts: 1 }),
              ],
              iterations: [
                entry(1, {
                  recommendation: b,
                  verification: { kind: 'failed', command: c, code: 1, tail: d, durationMs: 1 },
                  evidence: { files: [e], fileCount: 1 },
                  verdict: { discrepancies: [f] },
                }),
              ],
              withheld: [{ path: e, why: f }],
              warnings: [g],
              session: g,
              restored: h,
              saved: { kind: 'not-saved', why: h },
            }),
          );
          expect(body.length).toBeLessThanOrEqual(65_536);
          expect(parseHiddenStatus(body).kind).toBe('found');
          expect(body.match(/<!--/g)).toHaveLength(1);
          expect(body).not.toMatch(/@[^\u200B]|gh-\d/i);
          expect(body.match(/(?<!\[)#\d+/g)).toEqual(['#12']);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
