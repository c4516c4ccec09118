import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHiddenStatus } from '../../../../src/report/pages/pull-request-body.ts';
import { renderHiddenStatus, renderStatusJson } from '../../../../src/report/pages/status-json.ts';
import { type RalphStatus, ralphStatusSchema } from '../../../../src/report/pages/status-schema.ts';
import { noFeedback, type Feedback, type FeedbackItem } from '../../../../src/core/feedback/memory.ts';
import { createLanelessReport } from '../../../../src/handover/report.ts';
import { END, OUTCOMES, planTask, report, taskReport } from '../fixtures.ts';
import { capText } from '../../../../src/core/text/phrase.ts';
import { runs } from '../../../runs.ts';
import { publishedSchema } from '../../../published-schema.ts';

type FeedbackItems = Feedback['items'];

const done = report({ kind: 'complete', reason: 'plan_complete' });

test('says what the run did, in the published shape', () => {
  expect(JSON.parse(renderStatusJson(done))).toEqual({
    version: 1,
    outcome: 'complete',
    reason: 'plan_complete',
    branchId: 'queue',
    branch: 'ralph/queue',
    baseBranch: 'main',
    headSha: 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334',
    pullRequest: 7,
    iterations: 1,
    maxIterations: 10,
    tasksDone: 1,
    tasksOpen: 1,
    tasks: [
      {
        id: 'issue-12',
        issue: 12,
        source: { kind: 'issue', name: '#12' },
        title: 'Greet people by name',
        state: 'done',
        hold: null,
        attempts: 1,
        commit: 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334',
        iterations: 0,
        costUsd: 0,
        size: null,
      },
      {
        id: 'issue-13',
        issue: 13,
        source: { kind: 'issue', name: '#13' },
        title: 'Task 13',
        state: 'todo',
        hold: null,
        attempts: 0,
        commit: null,
        iterations: 0,
        costUsd: 0,
        size: null,
      },
    ],
    tasksOmitted: 0,
    unlisted: [],
    change: {
      runs: 0,
      iterations: 0,
      costUsd: 0,
      tokens: 0,
      lines: null,
      failingSince: null,
      leftOut: 0,
      overruled: 0,
    },
    tests: 'passing',
    verification: null,
    baseTests: 'not-run',
    feedback: null,
    discrepancies: 0,
    withheldFiles: 0,
    isolation: null,
    circuit: 'closed',
    callsRemaining: 99,
    tokens: 12_345,
    costUsd: 0.12,
    resumeAt: null,
    stateSaved: true,
    runUrl: 'https://github.com/acme/shop/actions/runs/99',
    startedAt: '2026-11-21T16:08:00.000Z',
    endedAt: '2026-11-21T16:18:00.000Z',
  });
});

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('RALPH_STATUS', ralphStatusSchema, 'input'), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../../schemas/ralph-status.schema.json');
});

test.each(OUTCOMES)('the published JSON Schema accepts a run that ended $kind ($reason)', (outcome) => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(publishedSchema('RALPH_STATUS', ralphStatusSchema, 'input'));
  for (const some of [
    report(outcome),
    createLanelessReport({
      outcome,
      repositoryUrl: 'https://github.com/a/b',
      runUrl: 'https://github.com/a/b/actions/runs/1',
      startedAt: END,
      endedAt: END,
    }),
  ]) {
    validate(JSON.parse(renderStatusJson(some)));
    expect(validate.errors).toBeNull();
  }
});

test('a task of a file has no issue, but a place', () => {
  const { tasks } = JSON.parse(renderStatusJson({ ...done, tasks: [planTask(7)], unlisted: ['issue-4'] }));
  expect(tasks).toEqual([
    {
      id: 'plan-00000007',
      issue: null,
      source: { kind: 'plan', name: '.ralph/fix_plan.md:7' },
      title: 'Task 7',
      state: 'todo',
      hold: null,
      attempts: 0,
      commit: null,
      iterations: 0,
      costUsd: 0,
      size: null,
    },
  ]);
});

describe('feedback', () => {
  const answer = { kind: 'changed', commit: 'a1b2c3d', words: null, isOurs: false, at: END, posted: true } as const;
  const asked = (index: number, isOpen: boolean): FeedbackItem => ({
    kind: 'thread',
    title: `Thread ${String(index)} ${'<'.repeat(100)}`,
    url: `https://github.com/acme/shop/pull/7#discussion_r${String(index)}`,
    rounds: 1,
    asked: String(index),
    answer: isOpen ? null : answer,
  });
  const items = (count: number): FeedbackItems =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`thread-${String(index + 1)}`, asked(index + 1, index % 4 === 0)]),
    );
  const saying = (count: number) => ({ ...done, answers: { ...noFeedback, items: items(count) } });

  test('says what was asked, what came of it, and which checks nobody works on', () => {
    const counts = { passed: 2, failed: 1, running: 1, waiting: 0 };
    const checks = { counts, alsoOnBase: ['lint'], flaky: [], waiting: [], unstarted: true, unreadable: null, runs: 4 };
    const { feedback } = JSON.parse(renderStatusJson({ ...saying(2), checks }));
    expect(feedback).toMatchObject({
      ...{ rounds: 0, open: 1, answered: 1, checks },
      items: [
        { id: 'thread-1', kind: 'thread', state: 'open', commit: null },
        { id: 'thread-2', kind: 'thread', state: 'changed', commit: 'a1b2c3d' },
      ],
    });
  });

  test('is the newest 50 of it, what is open first', () => {
    const { feedback } = JSON.parse(renderStatusJson(saying(120))) as RalphStatus;
    expect(feedback).toMatchObject({ open: 30, answered: 90 });
    const ids = feedback?.items.map(({ id }) => id) ?? [];
    expect([ids.length, ids[0], ids[30]]).toEqual([50, 'thread-117', 'thread-120']);
  });

  test.each([4_000, 16_000])('leaves room for all else in %i characters', (room) => {
    const hidden = renderHiddenStatus(saying(120), 'Title', room);
    expect(hidden.length).toBeLessThanOrEqual(room);
    expect(parseHiddenStatus(hidden)).toMatchObject({
      kind: 'found',
      status: { feedback: { open: 30, answered: 90 } },
    });
  });
});

describe('the hidden status', () => {
  test('of a version that knew neither sources nor holds is still read', () => {
    const old = renderStatusJson(done)
      .replace('"unlisted":[],', '')
      .replaceAll(/"source":\{[^}]*\},|"hold":null,|,"iterations":0,"costUsd":0,"size":null|"change":\{[^}]*\},/g, '');
    expect(old).not.toMatch(/unlisted|source|hold|size|change/);
    const earlier = old.replace('"branchId"', '"lane"');
    expect(earlier).toContain('"lane"');
    expect(parseHiddenStatus(`<!-- ralph-action:RALPH_STATUS ${earlier} -->`)).toEqual({
      kind: 'found',
      status: JSON.parse(old),
    });
  });

  test('survives everything that could end its comment', () => {
    const title = 'a --> b -- c --!> <!-- d @octocat fixes #12 GH-13 https://a.b/issues/3';
    const hidden = renderHiddenStatus({ ...done, tasks: [taskReport(12, { title })] }, title, 16_000);
    expect(hidden.slice(4, -3)).not.toMatch(/--|[<>@#]|gh-|:\/\//i);
    expect(parseHiddenStatus(hidden)).toMatchObject({ kind: 'found', status: { tasks: [{ title }] } });
  });

  test('parses back to the same status for any title, branch and lane', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 100 }),
      fc.constantFrom('-->', '--', '<!-- ralph-action:RALPH_STATUS {} -->', '\\u002d', '"', '\\'),
    );
    fc.assert(
      fc.property(anything, anything, anything, (title, branch, lane) => {
        const some = { ...done, branch, lane, tasks: [taskReport(1, { title })] };
        expect(parseHiddenStatus(`before\n${renderHiddenStatus(some, title, 16_000)}\nafter`)).toEqual({
          kind: 'found',
          status: { ...JSON.parse(renderStatusJson(some)), title: capText(title, 300) },
        });
      }),
      { numRuns: runs(500) },
    );
  });

  test('leaves tasks out when there are too many, and says how many', () => {
    const many = {
      ...done,
      tasks: Array.from({ length: 900 }, (_, index) => taskReport(index + 1, { title: '<'.repeat(200) })),
    };
    const hidden = renderHiddenStatus(many, '', 16_000);
    expect(hidden.length).toBeLessThanOrEqual(16_000);
    const parsed = parseHiddenStatus(hidden);
    expect(parsed.kind === 'found' && parsed.status.tasks.length + parsed.status.tasksOmitted).toBe(900);
  });

  test.each([
    ['absent', 'no status here'],
    ['unreadable', '<!-- ralph-action:RALPH_STATUS {"version":1'],
    ['unreadable', '<!-- ralph-action:RALPH_STATUS {"version":1} -->'],
    ['unreadable', '<!-- ralph-action:RALPH_STATUS nonsense -->'],
    ['unreadable', '<!-- ralph-action:RALPH_STATUS {"version":2} -->'],
  ])('reading is %s for %j', (kind, body) => {
    expect(parseHiddenStatus(body).kind).toBe(kind);
  });

  test('reading never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (junk) => {
        parseHiddenStatus(`<!-- ralph-action:RALPH_STATUS ${junk} -->`);
      }),
    );
  });
});
