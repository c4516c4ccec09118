import { expect, test } from 'vitest';
import { addComment, addIssue } from '../../../testbed/github/state.ts';
import { configOf } from '../../loop/stage/run-action.ts';
import { withWishes } from '../../../src/github/wishes/with-wishes.ts';
import { notifyOfConfiguration } from '../../../src/publish/notifications.ts';
import { createLanelessReport } from '../../../src/handover/report.ts';
import { type ForgeFixture, now, openForge } from './github-fixture.ts';

const HOUR = 3_600_000;
const MARKER = '<!-- ralph-action:notification configuration:every-run -->';

const silent = (): undefined => undefined;

/** Creates the end of a run that its configuration stops. */
const endOf = (at: ForgeFixture, thread: number | null) => (message: string, runUrl: string) =>
  notifyOfConfiguration(
    {
      config: configOf(),
      forge: withWishes(at.nextRun()),
      asked: { by: thread === null ? null : 'octo', thread },
      clock: { now: () => now },
      log: { info: silent, warning: silent, error: silent, group: (_title, body) => body() },
      redact: (text) => text,
      sha256: (text) => text,
      webhook: null,
      stepWithinMs: null,
    },
    createLanelessReport({
      outcome: { kind: 'failed', reason: 'configuration', message },
      repositoryUrl: 'https://github.test/octo/demo',
      runUrl,
      startedAt: now,
      endedAt: now,
    }),
  );

/** Runs with an invalid input; the thread has another run's message about another input, `ago` ms old. */
async function runAgain(ago: number, input: string) {
  const at = await openForge();
  addIssue(at.github.state, { title: 'Task', body: '', labels: [], author: 'stranger' }, now);
  const run = endOf(at, 1);
  await run('- draft: "yes" must be one of: true, false.', 'https://github.test/runs/1');
  const [first] = at.github.state.comments;
  if (first === undefined) throw new Error('nobody was notified');
  at.github.state.comments.length = 0;
  addComment(at.github.state, { issue: 1, body: first.body, author: first.author }, now - ago);
  await run(`- ${input}: "yes" must be one of: true, false.`, 'https://github.test/runs/2');
  return at;
}

test.each([1, 30])('the same reason is reported once, in any run, also %s hours later', async (hours) => {
  await using at = await runAgain(hours * HOUR, 'draft');
  expect(at.github.state.comments).toMatchObject([{ body: expect.stringContaining('/runs/1') as string }]);
});

test('another reason on the same day is a correction', async () => {
  await using at = await runAgain(23 * HOUR, 'co-author');
  expect(at.github.state.comments).toMatchObject([
    { body: expect.stringMatching(/^<!-- ralph-action:notification [^]*co-author/) as string, minimized: false },
  ]);
});

test('another reason after a day is a new comment, and the old one is hidden', async () => {
  await using at = await runAgain(25 * HOUR, 'co-author');
  expect(at.github.state.comments).toMatchObject([
    {
      body: expect.stringMatching(/^<!-- ralph-action:settled -->[^]*see the newer comment/) as string,
      minimized: true,
    },
    { body: expect.stringContaining(`${MARKER}\n\n@octo`) as string, minimized: false },
  ]);
});

test('a token that may not read pull requests: people are notified on an issue; if it may read nothing, the refusal says why', async () => {
  const permissions = { metadata: 'read', issues: 'write' } as const;
  await using at = await openForge({ permissions });
  addIssue(at.github.state, { title: 'Task', body: '', labels: ['ralph'], author: 'octo' }, now);
  await endOf(at, null)('Add `pull-requests: write`.', 'https://github.test/runs/1');
  expect(at.github.state.comments).toMatchObject([{ issue: 1, body: expect.stringContaining(MARKER) as string }]);
  await using blind = await openForge({ permissions: { metadata: 'read' } });
  await expect(endOf(blind, null)('Add `issues: write`.', '')).rejects.toThrow('pull-requests: read');
});
