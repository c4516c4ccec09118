import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Verification } from '../../../src/core/evidence.ts';
import { noChange } from '../../../src/core/lane/change.ts';
import { lookAtKinds } from '../../../src/core/review/manifest.ts';
import type { FilesToLookAt } from '../../../src/core/review/look-at.ts';
import { issueOfTask } from '../../../src/core/tasks/task.ts';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import type { TaskReport, WorkedReport } from '../../../src/handover/report.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { parseHiddenStatus } from '../../../src/report/pages/pull-request-body.ts';
import { changeOf, entry, OUTCOMES, planTask, report, sharing, taskReport } from './fixtures.ts';
import { runs } from '../../runs.ts';
import { record } from '../core/pipeline/pipeline-fixtures.ts';

const complete = { kind: 'complete', reason: 'plan_complete' } as const;

/** Returns a task that waits for approval and depends on another. */
function waiting(number: number, title: string): TaskReport {
  const { task, ...others } = taskReport(number, { title });
  return { task: { ...task, obstacle: 'needs-approval', dependsOn: ['issue-99'] }, ...others };
}

/** Removes the hidden part and the invisible characters that break references. */
const shown = (body: string) => body.replace(/<!--.*?-->/gs, '').replaceAll('\u200B', '');

const bodyOf = (some: WorkedReport) => buildPullRequestText(some, 0).body;

describe('title', () => {
  test.each([
    ["is the task's own", [taskReport(1, { title: 'Greet', attempts: 1 })], 'Greet'],
    [
      'names two that were worked on',
      [taskReport(1, { title: 'Greet', state: 'done' }), taskReport(2, { attempts: 1 }), taskReport(3)],
      '2 tasks: Greet, Task 2',
    ],
    ['names two of many', [1, 2, 3].map((number) => taskReport(number, { attempts: 1 })), '3 tasks: Task 1, Task 2 …'],
    ['names a task that waits when none was started', [taskReport(1, { title: 'Greet' }), taskReport(2)], 'Greet'],
    ['does without tasks', [], 'Work in progress'],
    [
      'is one line, and closes nothing as a commit message',
      [taskReport(1, { title: 'Fixes\n#12', attempts: 1 })],
      'Fixes #\u200B12',
    ],
  ])('%s', (_rule, tasks, title) => {
    expect(buildPullRequestText(report(complete, { tasks }), 0).title).toBe(title);
  });

  test('leaves out what the branch has nothing of: other branches, tasks set aside', () => {
    const [one, two, three] = [1, 2, 3].map((number) => taskReport(number, { state: 'done', attempts: 1 })) as [
      TaskReport,
      TaskReport,
      TaskReport,
    ];
    const aside = sharing(taskReport(4, { state: 'stuck', attempts: 3 }), { iterations: 3 });
    const tasks = [one, sharing(two, { commitCount: 1 }), three, aside];
    const change = changeOf(tasks.slice(1, 2).concat(aside));
    expect(buildPullRequestText(report(complete, { tasks, change }), 0).title).toBe('Task 2');
  });
});

describe('headline', () => {
  const passed = { kind: 'passed', durationMs: 10 } as const;
  const failed = { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 10 } as const;
  const done = [taskReport(1, { state: 'done' }), taskReport(2, { state: 'done' })];
  const open = [taskReport(1, { state: 'done' }), taskReport(2)];
  const verified = (verification: Verification) => ({ iterations: [entry(1, { verification })] });

  test.each<readonly [string, Partial<WorkedReport>, string]>([
    ['all done and tested', { tasks: done, ...verified(passed) }, '✅ 2 of 2 tasks done, `npm test` passes'],
    ['not all done', { tasks: open, ...verified(passed) }, '🚧 1 of 2 tasks done, `npm test` passes'],
    [
      'red since an iteration of the branch',
      { tasks: done, ...verified(failed), change: { ...noChange, failingSince: 4 } },
      '❌ `npm test` has been failing since iteration 4; 2 of 2 tasks done',
    ],
    [
      'red since an earlier run',
      { tasks: open, iterations: [], change: { ...noChange, failingSince: 4 } },
      '❌ `npm test` has been failing since iteration 4; 1 of 2 tasks done',
    ],
    [
      'green since an earlier run',
      { tasks: open, iterations: [], change: changeOf([sharing(taskReport(1), { verification: 'passed' })]) },
      '🚧 1 of 2 tasks done, `npm test` passes',
    ],
    [
      'nothing to test with',
      { tasks: done, verifyCommands: [] },
      '⚠️ 2 of 2 tasks done; nothing was tested: no `verify` is set',
    ],
    [
      'not tested yet',
      { tasks: open, iterations: [] },
      '⚠️ 1 of 2 tasks done; nothing was tested: `npm test` has not run',
    ],
    [
      'nothing to test with but steps of a pipeline, which passed',
      { tasks: done, verifyCommands: [], iterations: [entry(1, { evidence: { steps: [record('unit-tests')] } })] },
      '⚠️ 2 of 2 tasks done; no `verify` is set; the step `unit-tests` of the pipeline passed in the last iteration',
    ],
    ['one task', { tasks: done.slice(1), ...verified(passed) }, '✅ 1 of 1 task done, `npm test` passes'],
    ['no tasks', { tasks: [], verifyCommands: [] }, '⚠️ Nothing was tested: no `verify` is set'],
  ])('%s', (_rule, change, expected) => {
    expect(
      shown(bodyOf(report(complete, change)))
        .trim()
        .split('\n')[0],
    ).toBe(`## ${expected}`);
  });
});

describe('body', () => {
  test('names above the tasks what a reviewer looks at first, the most important fifteen', () => {
    const files = Array.from({ length: 10 }, (_, i) => ({ path: `p${i}/AGENTS.md`, what: null }));
    const lookAt: readonly FilesToLookAt[] = [
      {
        kind: 'void-test-script',
        fileCount: 1,
        files: [{ path: 'package.json', what: 'test always passes for @agents' }],
      },
      { kind: 'skipped-test', fileCount: 1, files: [{ path: 'a`|b.test.ts', what: null }] },
      { kind: 'agent-instructions', fileCount: 19, files },
    ];
    const body = shown(bodyOf(report(complete, { lookAt })));
    const [, section = ''] = body.split('### Look at first');
    expect(body.indexOf('### Look at first')).toBeLessThan(body.indexOf('### Tasks'));
    expect(section.split('###')[0]?.trim().split('\n')).toEqual([
      '- **Test scripts that always pass or were removed** (1 file): `package.json` (test always passes for @agents)',
      '- **Skipped tests** (1 file): <code>a&#x60;&vert;b.test.ts</code>',
      `- **Instructions for agents** (19 files): ${files.map(({ path }) => `\`${path}\``).join(', ')} and 9 more`,
    ]);
    expect(bodyOf(report(complete, { lookAt }))).not.toMatch(/@agents/);
    expect(bodyOf(report(complete))).not.toContain('Look at first');
  });

  test('says every kind of what to look at first, whatever the names are', () => {
    const lookAt = lookAtKinds.map((kind): FilesToLookAt => ({
      kind,
      fileCount: 1000,
      files: Array.from({ length: 10 }, (_, i) => ({ path: `${i}${'`'.repeat(500)}`, what: '`'.repeat(500) })),
    }));
    for (const [taken, most] of [
      [0, 65_000],
      [50_000, 15_000],
      [60_000, 11_500],
    ] as const) {
      const { body } = buildPullRequestText(report(complete, { lookAt }), taken);
      expect(body.length).toBeLessThanOrEqual(most);
      const section = /### Look at first\n\n([^]*?)\n\n/.exec(body)?.[1] ?? '';
      expect(section.split('\n')).toHaveLength(lookAtKinds.length);
      expect(parseHiddenStatus(body).kind).toBe('found');
    }
  });

  test('a sum of nothing for many tokens is not a known cost', () => {
    const totalOf = (costUsd: number, tokens: number): string => {
      const change = changeOf([], { runs: 1, iterations: 1, costUsd, tokens, durationMs: 60_000 });
      return (
        /\*\*In total:\*\* ([^·]*) ·/.exec(
          bodyOf(report({ kind: 'blocked', reason: 'needs_human' }, { change })),
        )?.[1] ?? ''
      );
    };
    expect(totalOf(0, 812_000)).toBe('cost not known, 812.0k tokens');
    expect(totalOf(0.5, 812_000)).toBe('$0.50, 812.0k tokens');
    expect(totalOf(0, 0)).toBe('$0.00, 0 tokens');
  });

  test('is about all runs of the branch: per task what the agent says, what was measured and what it cost', () => {
    const since = 'b'.repeat(40);
    const commits = ['c'.repeat(40), 'd'.repeat(40)];
    const one = sharing(taskReport(12, { title: 'Greet people by name', state: 'done', attempts: 3 }), {
      iterations: 3,
      costUsd: 1.204,
      commits,
      commitCount: 4,
      summary: 'Greets @octocat, fixes #99',
      verification: 'passed',
      size: { files: 4, insertions: 130, deletions: 12, since },
    });
    const asking = sharing(taskReport(13, { state: 'blocked', attempts: 2, reason: 'status_blocked' }), {
      iterations: 2,
      costUsd: 0.004,
      question: 'By first name?',
      summary: 'Half of it.',
    });
    const tasks = [one, asking, taskReport(14, { title: 'Later' })];
    const change = changeOf(tasks.slice(0, 2), {
      runs: 3,
      iterations: 5,
      costUsd: 1.208,
      tokens: 812_000,
      durationMs: 1_500_000,
      lines: 142,
    });
    const body = shown(bodyOf(report({ kind: 'blocked', reason: 'needs_human' }, { tasks, change })));
    for (const part of [
      '## ⛔ Blocked: [#13](https://github.com/acme/shop/issues/13) has a question for you; you are needed. 1 of 3 tasks done, `npm test` passes\n',
      '- ✅ **Greet people by name** ([#12](https://github.com/acme/shop/issues/12))\n  > “Greets @octocat, fixes #99”\n\n  4 files (+130 −12) · commits [`ccccccc`]',
      ` and 2 more · [compare](https://github.com/acme/shop/compare/${since}...${'d'.repeat(40)}) · 3 iterations · $1.20`,
      '- ⛔ **Task 13** ([#13](https://github.com/acme/shop/issues/13)): blocked\n',
      '2 iterations · < $0.01\n',
      '<summary>1 task not started</summary>\n\n- [#14](https://github.com/acme/shop/issues/14) Later\n',
      '**In total:** $1.21, 812.0k tokens · 5 iterations in 3 runs, 25 min · 142 changed lines (generated files not counted)',
      'Closes #12, Part of #13',
      '<summary>Evidence, and the state of the last run</summary>',
      '| Calls left | 99 of 100 this hour |',
    ])
      expect(body).toContain(part);
    expect(body).not.toContain('Half of it');
    // The issue's own comment has the question.
    expect(body).not.toContain('By first name?');
  });

  test('asks what no issue asks: the question on a task of a file', () => {
    const asking = sharing(planTask(7, { state: 'blocked', attempts: 2, reason: 'status_blocked' }), {
      question: 'By first name?',
    });
    const body = bodyOf(report({ kind: 'blocked', reason: 'needs_human' }, { tasks: [asking] }));
    expect(shown(body)).toContain('The agent asks: “By first name?”');
  });

  test('no claim stands uncorrected while the tests fail', () => {
    const task = sharing(taskReport(12, { state: 'in-progress', attempts: 1 }), {
      iterations: 1,
      summary: 'All tests pass now.',
      verification: 'failed',
    });
    const claim = 'It reported TESTS_STATUS: PASSING, but the verification failed.';
    const change = changeOf([task], {
      failingSince: 2,
      overruled: [2, 3, 4, 6].map((iteration) => `Iteration ${iteration}: ${claim}`),
    });
    const body = shown(
      bodyOf(report({ kind: 'limit', reason: 'iterations' }, { tasks: [task], change, iterations: [] })),
    );
    expect(body).toContain(
      '  > “All tests pass now.”\n  >\n  > ⚠️ The agent says so; `verify` says otherwise.\n\n  1 iteration\n',
    );
    expect(body).toContain(
      '### Claims overruled\n\n- Iterations 2–4, 6: The agent said that the tests pass; they failed.',
    );
  });

  test('thirty tasks are thirty lines', () => {
    const tasks = Array.from({ length: 30 }, (_, index) =>
      sharing(
        taskReport(index + 1, { state: 'done', attempts: 1, ...(index === 29 ? { unmarked: true as const } : {}) }),
        {
          commits: ['c'.repeat(40)],
          summary: 'Moved.\nWith a test.',
          size: { files: 2, insertions: 36, deletions: 0, since: null },
        },
      ),
    );
    const [, section = ''] = /### Tasks\n\n([^]*?)\n\n/.exec(shown(bodyOf(report(complete, { tasks })))) ?? [];
    expect(section.split('\n')).toHaveLength(30);
    for (const line of section.split('\n'))
      expect(line).toMatch(
        /^- ✅ \[#\d+\]\(\S+\) Task \d+: 2 files \(\+36 −0\), \[`ccccccc`\]\(\S+\),.* “Moved\. With a test\.”$/,
      );
    expect(section.match(/not marked as done/g)).toHaveLength(1);
  });

  test('of many tasks none has words that a failing verification contradicts', () => {
    const tasks = Array.from({ length: 6 }, (_, index) =>
      sharing(taskReport(index + 1, { state: 'in-progress', attempts: 1 }), { summary: 'All tests pass now.' }),
    );
    const change = changeOf(tasks, { failingSince: 2 });
    const body = bodyOf(report({ kind: 'limit', reason: 'iterations' }, { tasks, change, iterations: [] }));
    expect(body).toContain('Task 6: in progress');
    expect(body).not.toContain('All tests pass');
  });

  test('closes done issues only; a started one is mentioned, an untouched one is not', () => {
    const tasks = [
      taskReport(1, { state: 'done', attempts: 1 }),
      taskReport(2, { state: 'in-progress', attempts: 2 }),
      taskReport(3, { state: 'failed', attempts: 8 }),
      taskReport(4),
    ];
    const references = bodyOf(report({ kind: 'limit', reason: 'iterations' }, { tasks })).match(/^.*(?<!\[)#\d+$/gm);
    expect(references).toEqual(['Closes #1, Part of #2, Part of #3']);
  });

  test('says which done task of a file nothing marks', () => {
    const tasks = [
      planTask(7, { title: 'Greet', state: 'done', attempts: 1 }),
      planTask(9, { title: 'Part', state: 'done', attempts: 1, unmarked: true }),
    ];
    const body = shown(bodyOf(report(complete, { tasks, iterations: [] })));
    expect(
      body.match(/^.*\n(?=\n  It is not marked as done in this branch's file: do that after merging\.$)/gm),
    ).toEqual([expect.stringContaining('**Part**')]);
  });

  test('names tasks of files by their place, and closes nothing for them', () => {
    const body = bodyOf(
      report(complete, {
        tasks: [planTask(7, { title: 'Greet', state: 'done', attempts: 1 }), planTask(9, { attempts: 1 })],
        iterations: [entry(1, { taskId: 'plan-00000007' })],
      }),
    );
    expect(body).toContain('- ✅ **Greet** (`.ralph/fix_plan.md:7`)\n');
    expect(body).not.toMatch(/Closes|Part of/);
  });

  test.each([
    [
      ['issue-4'],
      '1 task of this branch is no longer in the queue, and nothing here closes it: [#4](https://github.com/acme/shop/issues/4).',
    ],
    [
      ['issue-4', 'plan-0a1b2c3d'],
      '2 tasks of this branch are no longer in the queue, and nothing here closes them: [#4](https://github.com/acme/shop/issues/4), `plan-0a1b2c3d`.',
    ],
  ])('says which tasks of the branch are no longer listed: %j', (unlisted, line) => {
    expect(shown(bodyOf(report(complete, { unlisted })))).toContain(line);
  });

  test('says what the branch lacks of the work and which claims were overruled, over all runs, and how many more there were', () => {
    const change = {
      ...noChange,
      leftOut: [
        { path: '.github/x.yml', why: 'it is protected' },
        { path: 'a.env', why: 'it holds a key' },
        { path: '.github/y.yml', why: 'it is protected' },
      ],
      leftOutMore: 4,
      overruled: Array.from({ length: 20 }, (_, i) =>
        i === 18
          ? 'Iteration 19: It claimed finished work, but changed files that must not be published and are not in the branch: a.env.'
          : `Iteration ${i + 1}: claim ${i}`,
      ),
      overruledMore: 2,
    };
    const body = shown(bodyOf(report(complete, { change, withheld: [] })));
    expect(body).toContain('7 changed files are not in the branch: see “Left out”.');
    expect(body.match(/a\.env/g)).toHaveLength(1);
    expect(body).toContain(
      '### Left out\n\n- `.github/x.yml`, `.github/y.yml`: each is protected\n- `a.env`: it holds a key\n- … and 4 more',
    );
    expect(body).toContain('### Claims overruled\n\n- Iteration 2: claim 1\n');
    expect(body).toContain('published and are not in the branch.\n- Iteration 20: claim 19\n- … and 3 more');
    expect(shown(bodyOf(report(complete, { withheld: change.leftOut })))).not.toContain('x.yml');
  });

  test('shows a withheld file, a warning and the failing output', () => {
    const body = shown(
      bodyOf(
        report(
          { kind: 'limit', reason: 'iterations' },
          {
            iterations: [
              entry(1, {
                verification: { kind: 'failed', command: 'npm test', code: 1, tail: '✖ greets\n', durationMs: 10 },
              }),
            ],
            change: { ...noChange, leftOut: [{ path: 'a|b.env', why: 'holds a key' }] },
            warnings: ['no transcript'],
            saved: { kind: 'not-saved', why: 'the cache is read-only' },
          },
        ),
      ),
    );
    for (const part of [
      '⚠️ 1 changed file is not in the branch',
      '- no transcript',
      '<summary>Last output of <code>verify</code></summary>\n\n```text\n✖ greets\n```',
      '| Tests | **failing** |',
      '**not saved**: the cache is read-only',
    ])
      expect(body).toContain(part);
    expect(body.match(/b\.env/g)).toHaveLength(1);
  });

  test('of a head that nothing verified says so, whatever an iteration verified', () => {
    const iterations = [entry(1, { verification: { kind: 'passed', durationMs: 10 } })];
    const unverified = report({ kind: 'limit', reason: 'unverified' }, { iterations });
    const body = bodyOf(unverified);
    expect(body).toContain('## ⚠️ 1 of 2 tasks done; `npm test` has not run on the newest commit\n');
    expect(body).toContain('| Tests | not run');
    expect(body + renderSummary(unverified)).not.toMatch(/`npm test` passes|✅ passing/);
  });

  test('without a verify command the agent only says that tests pass', () => {
    const body = bodyOf(
      report(complete, { verifyCommands: [], iterations: [entry(1, { verification: { kind: 'not-run' } })] }),
    );
    expect(body).toContain('| Tests | not run (no `verify` command); the agent says they are passing |');
  });

  test.each(OUTCOMES)('carries the hidden status of a run that ended $kind ($reason)', (outcome) => {
    expect(parseHiddenStatus(bodyOf(report(outcome)))).toMatchObject({
      kind: 'found',
      status: { outcome: outcome.kind, reason: outcome.reason },
    });
  });

  test('too long: whole sections go, least important first, and the body says which', () => {
    const long = '`'.repeat(5000);
    const tasks = Array.from({ length: 300 }, (_, index) =>
      taskReport(index + 1, { title: '<a'.repeat(100), state: 'done', attempts: 1 }),
    );
    const iterations = tasks.map(({ task }, index) =>
      entry(index + 1, {
        taskNumber: issueOfTask(task) ?? 0,
        recommendation: '<a'.repeat(200),
        verification: { kind: 'failed', command: long, code: 1, tail: long, durationMs: 1 },
        evidence: { files: Array.from({ length: 200 }, (_one, file) => `${file}${'|'.repeat(200)}`), fileCount: 200 },
      }),
    );
    // People wrote as much themselves.
    const { body } = buildPullRequestText(report(complete, { tasks, iterations }), 40_000);
    expect(body.length).toBeLessThanOrEqual(65_536 - 40_000);
    expect(body).toMatch(
      /\*Left out to stay within GitHub's size limit: state of the last run, verification output\b.*\. The job log has more\.\*/,
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
          const body = bodyOf(
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
              change: { ...noChange, leftOut: [{ path: e, why: f }], overruled: [g] },
              warnings: [g],
              session: g,
              restored: h,
              saved: { kind: 'not-saved', why: h },
            }),
          );
          expect(body.length).toBeLessThanOrEqual(65_536);
          expect(parseHiddenStatus(body).kind).toBe('found');
          expect(body.match(/<!--/g)).toHaveLength(3);
          expect(body).not.toMatch(/@[^\u200B]|gh-\d/i);
          expect(body.match(/(?<!\[)#\d+/g)).toEqual(['#12']);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});

test('findings on a request, which has no share of the branch, name it as code', () => {
  const by = { agent: 'codex', hold: 'none', unreadable: null, more: 0, holding: 0 } as const;
  const findings = [{ file: 'a.ts', line: 1, severity: 'low', text: 'Flaw.' }] as const;
  const reviews = [{ task: 'thread-11', step: 'review', review: { ...by, findings } }];
  const page = bodyOf(report(complete, { change: changeOf([], { reviews }) }));
  expect(page).toContain('<summary>Step <code>review</code> (Codex) on <code>thread-11</code>: 1 finding</summary>');
});
