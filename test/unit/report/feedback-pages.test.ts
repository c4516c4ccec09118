import { describe, expect, test } from 'vitest';
import type { ChecksSummary } from '../../../src/core/feedback/checks/checks.ts';
import { answerForWithheld, SUGGESTION_APPLIED } from '../../../src/core/feedback/answered.ts';
import { noFeedback, type Feedback, type FeedbackItem } from '../../../src/core/feedback/memory.ts';
import { noChange } from '../../../src/core/lane/change.ts';
import { formatNeedsMarker } from '../../../src/core/people/notifications.ts';
import { OWN_COMMENT_MARKER, parseAnswer } from '../../../src/core/people/command.ts';
import type { TaskReport, WorkedReport } from '../../../src/handover/report.ts';
import { renderFeedbackAnswer } from '../../../src/report/pages/answer.ts';
import { renderNotification, renderSettled } from '../../../src/report/pages/notification.ts';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import { renderStatusComment } from '../../../src/report/pages/status-comment.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { suggestNextSteps } from '../../../src/report/next/for-run.ts';
import { renderSteps } from '../../../src/report/next/step.ts';
import { describeOutcome } from '../../../src/report/sentences/outcome-text.ts';
import { END, entry, report, taskReport } from './fixtures.ts';

const SHA = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';
const REPOSITORY = 'https://github.com/acme/shop';
const BLOCKED = { kind: 'blocked', reason: 'needs_human' } as const;
const URL = `${REPOSITORY}/pull/7#discussion_r11`;

type Answer = NonNullable<FeedbackItem['answer']>;

function item(change: Partial<FeedbackItem> = {}, answer: Partial<Answer> | null = {}): FeedbackItem {
  const given: Answer = {
    kind: 'changed',
    commit: SHA,
    words: 'Renamed it to `total`.',
    isOurs: false,
    at: END,
    posted: true,
    ...answer,
  };
  const asked = { kind: 'thread', title: 'ann on src/a.js:3: rename this', url: URL, rounds: 1, asked: '11' } as const;
  return { ...asked, answer: answer === null ? null : given, ...change };
}

/** Removes the invisible characters that break references. */
const seen = (text: string): string => text.replaceAll('\u200B', '');
const answer = (some: FeedbackItem): string =>
  seen(renderFeedbackAnswer(some, { id: 'thread-11', repositoryUrl: REPOSITORY }));

describe('an answer', () => {
  const commit = `[\`a1b2c3d\`](${REPOSITORY}/commit/${SHA})`;
  test.each<[string, FeedbackItem, string]>([
    ['a change', item(), `**Done** in ${commit}.\n\n> “Renamed it to \\\`total\\\`.”`],
    ['a change without words', item({}, { words: null }), `**Done** in ${commit}.`],
    [
      'a refusal',
      item({}, { kind: 'unchanged', commit: null, words: 'It is called so everywhere.' }),
      '**Not changed.**\n\n> “It is called so everywhere.”',
    ],
    [
      'a suggestion that was applied',
      item({}, { words: SUGGESTION_APPLIED.words, isOurs: true }),
      `**Applied as suggested** in ${commit}.`,
    ],
    [
      'a suggestion that must not be',
      item(
        {},
        {
          kind: 'unchanged',
          commit: null,
          isOurs: true,
          words: answerForWithheld('.github/ci.yml', 'protected').words,
        },
      ),
      '**Not applied: `.github/ci.yml` is left out, because it is a protected path; the setting allow-protected-paths can allow it**.',
    ],
    [
      'what a person must decide',
      item({ rounds: 3 }, { kind: 'given-up', words: 'Which name?' }),
      `**A person must decide.** Ralph has tried, last in ${commit}.\n\n> “Which name?”\n\n**Next:** Reply in the thread, push a fix yourself, or resolve the thread. If a reply starts nothing, its rounds are used up: comment \`/ralph retry\` on the pull request.`,
    ],
  ])('%s', (_, some, expected) => {
    expect(answer(some)).toBe(`<!-- ralph-action:answer thread-11 asked=11 -->\n\n${expected}`);
  });

  test.each<[string, FeedbackItem]>([
    ['a change', item()],
    ['a suggestion', item({}, { words: SUGGESTION_APPLIED.words, isOurs: true })],
    ['a refusal', item({}, { kind: 'unchanged', commit: null, words: `**Done** in /commit/${SHA})` })],
    ['a decision', item({ rounds: 2 }, { kind: 'given-up', words: 'Which name?' })],
    ['a decision without a commit', item({}, { kind: 'given-up', commit: null, words: null })],
  ])('says what came of it to whoever reads it back: %s', (_, some) => {
    const { kind, commit } = some.answer ?? {};
    expect(parseAnswer(renderFeedbackAnswer(some, { id: 'thread-11', repositoryUrl: REPOSITORY }))).toEqual({
      kind,
      commit,
    });
  });

  test('says the same after a person has pushed, when rounds are counted again', () => {
    const givenUp = (rounds: number): string => answer(item({ rounds }, { kind: 'given-up' }));
    expect(givenUp(0)).toBe(givenUp(3));
  });

  test('is known as ours, and no word of an agent gets out of its quotation', () => {
    const words = '<!-- ralph-action:status --> @ann Closes #1 ![x](https://evil.test/x.png)\n/ralph stop\n> no';
    const text = renderFeedbackAnswer(item({}, { words }), { id: 'thread-11', repositoryUrl: REPOSITORY });
    expect(text.startsWith(OWN_COMMENT_MARKER)).toBe(true);
    expect(text.split('<!--')).toHaveLength(2);
    expect(text).not.toMatch(/@ann|Closes #1|!\[x\]\(|^\/ralph/m);
    expect(text.split('\n').length).toBeLessThanOrEqual(10);
  });
});

function feedbackTask(change: Parameters<typeof taskReport>[1] = {}): TaskReport {
  const one = taskReport(11, { title: 'ann on src/a.js:3: rename this', ...change });
  const on = { kind: 'thread', thread: 'T11', replyTo: 11, asked: 11, by: 'ann', path: 'src/a.js', line: 3 } as const;
  const source = { kind: 'feedback', on: { ...on, suggestion: null }, pullRequest: 7, url: URL } as const;
  return { ...one, task: { ...one.task, id: 'thread-11', source } };
}

const checks: ChecksSummary = {
  counts: null,
  alsoOnBase: ['lint'],
  flaky: ['e2e <b>'],
  waiting: [],
  unstarted: false,
  unreadable: null,
  runs: 8,
};
const answers: Feedback = {
  ...noFeedback,
  items: {
    'thread-11': item({}, null),
    'thread-12': item({ title: 'ann on src/b.js:9: use a map', rounds: 2 }),
    'review-7': item(
      { kind: 'review', title: 'Review by bob: split this', url: `${REPOSITORY}/pull/7#pullrequestreview-7` },
      { kind: 'unchanged', commit: null, words: 'It is one thing.' },
    ),
    'check-0123456789ab': item(
      { kind: 'check', title: 'Check "test" fails: npm test', url: null },
      { kind: 'given-up', words: null, commit: null },
    ),
  },
  rounds: [
    { at: END, head: SHA, asked: 3, answered: 2, checks: { passed: 5, failed: 1, running: 2, waiting: 0 } },
    { at: END + 60_000, head: SHA, asked: 1, answered: 0, checks: null },
  ],
};
const answered = (change: Partial<WorkedReport> = {}): WorkedReport =>
  report(
    { kind: 'limit', reason: 'iterations' },
    { feedback: [feedbackTask({ state: 'in-progress', attempts: 1 })], answers, checks, ...change },
  );
const sectionOf = (some: WorkedReport): string =>
  /### Review and checks[^]*?(?=\n\n(?:###|\*\*In total|Closes|<details>\n<summary>Evidence))/.exec(
    seen(buildPullRequestText(some, 0).body),
  )?.[0] ?? '';

describe('the pull request', () => {
  test('shows what was asked, what was answered, and how checks stand', () => {
    expect(sectionOf(answered())).toMatchSnapshot();
  });

  test('says above all else what is open, and does not look finished', () => {
    const done = answered({ tasks: [taskReport(12, { state: 'done', attempts: 1 })] });
    const [first] = seen(buildPullRequestText(done, 0).body).split('\n').slice(1);
    expect(first).toBe(
      '## 🚧 1 of 1 task done, `npm test` passes; 1 review thread and 1 failed check are open, 1 needs a person',
    );
  });

  describe('says above all else that a check of its newest commit fails, although it is answered', () => {
    const asked = (head: string): Feedback['items'] => ({
      'check-0123456789ab': item(
        { kind: 'check', title: 'Check "test" fails: npm test', url: null, asked: head },
        { kind: 'unchanged', commit: null, words: 'The registry is down.' },
      ),
    });
    const failed = { passed: 1, failed: 2, running: 0, waiting: 0 };
    test.each<[string, string, ChecksSummary, boolean]>([
      ['', SHA, { ...checks, counts: failed }, true],
      ['where nobody can read it now', SHA, checks, true],
      ['not of an earlier commit', 'b'.repeat(40), { ...checks, counts: failed }, false],
      ['not after it passed', SHA, { ...checks, counts: { ...failed, failed: 1 } }, false],
    ])('%s', (_, head, seenChecks, isSaid) => {
      const some = answered({
        headSha: SHA,
        feedback: [],
        tasks: [taskReport(12, { state: 'done', attempts: 1 })],
        answers: { ...noFeedback, items: asked(head) },
        checks: seenChecks,
      });
      const [top = ''] = seen(buildPullRequestText(some, 0).body).split('### Tasks');
      expect(top).toContain(
        isSaid ? '## 🚧 1 of 1 task done, `npm test` passes; 1 check still fails' : '## ✅ 1 of 1 task done',
      );
      expect(top.includes('💬 Check "test" fails: npm test: not changed: “The registry is down.”')).toBe(isSaid);
    });
  });

  test('leads nowhere else by what people are said to have asked', () => {
    const elsewhere = item({ url: 'https://evil.test/pull/7' }, null);
    const some = answered({ answers: { ...noFeedback, items: { 'thread-11': elsewhere } } });
    expect(buildPullRequestText(some, 0).body).not.toContain('https://evil.test/pull/7)');
  });

  test.each<[string, Partial<Answer> | null, string]>([
    ['that is open leads to what conflicts', null, 'b'.repeat(40)],
    ['that was merged leads to the merge', {}, SHA],
    ['that no longer conflicts leads to what conflicted', { kind: 'unchanged', commit: null }, 'b'.repeat(40)],
  ])('a conflict %s', (_, came, commit) => {
    const title = 'Merge main and resolve the conflicts';
    const one = item({ kind: 'conflict', title, asked: 'b'.repeat(40), url: `${REPOSITORY}/pull/7` }, came);
    const some = answered({ feedback: [], answers: { ...noFeedback, items: { 'conflict-base': one } } });
    expect(sectionOf(some)).toContain(` [${title}](${REPOSITORY}/commit/${commit}): `);
  });

  test('says nothing where nothing was asked', () => {
    expect(sectionOf(report({ kind: 'complete', reason: 'plan_complete' }))).toBe('');
  });

  test('explains checks that do not start, with the remedy', () => {
    const quiet = answered({ answers: noFeedback, feedback: [], checks: { ...checks, unstarted: true } });
    expect(sectionOf(quiet)).toContain(`⏸️ Checks have not started on [\`a1b2c3d\`](${REPOSITORY}/commit/${SHA}).`);
  });

  test('names, counts and closes none of it as a task', () => {
    const { title, body } = buildPullRequestText(answered(), 0);
    expect(title).not.toContain('rename this');
    expect(body).toContain('1 of 2 tasks');
    expect(body).not.toContain('#11');
  });
});

test('summary and status comment have one line on it', () => {
  const line = '**Review and checks:** 2 answered, 1 review thread and 1 failed check are open';
  expect(renderSummary(answered())).toContain(line);
  expect(renderStatusComment(answered(), 'issue-13')).toContain(line);
  expect(renderSummary(report({ kind: 'complete', reason: 'plan_complete' }))).not.toContain('Review and checks');
});

test('the summary says which thread its one iteration was about', () => {
  const summary = seen(renderSummary(answered({ iterations: [entry(1, { taskId: 'thread-11' })] })));
  expect(summary).toContain('- Iteration 1 on [');
  expect(summary).toMatch(/- Iteration 1 on \[thread on src\/a\.js:3\]\(/);
});

test('what alone needs a person is the next step', () => {
  const stuck = feedbackTask({ state: 'blocked', reason: 'feedback_rounds' });
  const blocked = { ...answered({ feedback: [stuck] }), outcome: BLOCKED };
  const { what } = describeOutcome(blocked);
  const next = renderSteps(suggestNextSteps(blocked), 'log');
  expect(what).toContain('`max-feedback-rounds` allows no more rounds');
  expect(next).toMatch(/^Push a fix yourself [^]*comment \/ralph retry on/);
  const two = answered({ feedback: [stuck, { ...stuck, task: { ...stuck.task, id: 'thread-12' } }] });
  expect(renderSteps(suggestNextSteps({ ...two, outcome: BLOCKED }), 'log')).toMatch(
    /comment \/ralph retry on the pull request/,
  );
});

describe('a notification', () => {
  const notify = (kind: 'feedback_rounds' | 'blocked', some: WorkedReport): string =>
    seen(
      renderNotification({
        needs: [{ kind, about: 'thread-11' }],
        report: some,
        change: noChange,
        lastTask: null,
        notices: [],
        mentions: ['ann'],
      }),
    );
  const tried = entry(1, { taskId: 'thread-11', commit: SHA });

  test.each<[string, FeedbackItem]>([
    ['of a last round that was answered', item({ rounds: 3 })],
    ['of one that a person must decide', item({ rounds: 3 }, { kind: 'given-up', words: 'Which name?' })],
    ['of one that was asked for again', item({ rounds: 3 }, null)],
  ])('%s says what was asked, what was tried, and what a person can do', (_, one) => {
    const some = answered({ answers: { ...noFeedback, items: { 'thread-11': one } }, iterations: [tried] });
    expect(notify('feedback_rounds', some)).toMatchSnapshot();
  });

  test('of a thread that the agent cannot answer names the thread and its own ways out', () => {
    const stuck = feedbackTask({ state: 'blocked', attempts: 2, reason: 'status_blocked' });
    expect(notify('blocked', answered({ feedback: [stuck] }))).toMatchSnapshot();
  });

  test('is settled in words about the thread', () => {
    const settled = (['done', 'gone', 'goes_on'] as const).map((why) => ({
      notification: { about: 'thread-11' },
      why,
    }));
    expect(renderSettled(settled)).toBe(
      '**Settled:** The review thread is answered. The review thread is settled, and nothing more is asked for. Work on the review thread has continued.',
    );
  });

  test('has a first line by which it is found again', () => {
    const need = { kind: 'feedback_rounds', about: 'thread-11' } as const;
    expect(notify('feedback_rounds', answered()).split('\n')[0]).toBe(formatNeedsMarker([need]));
  });
});
