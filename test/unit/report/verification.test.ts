import { describe, expect, test } from 'vitest';
import type { VerificationRecord } from '../../../src/core/lane/state/state.ts';
import type { HeadVerification, WorkedReport } from '../../../src/handover/report.ts';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import { renderStatusComment } from '../../../src/report/pages/status-comment.ts';
import { parseHiddenStatus } from '../../../src/report/pages/pull-request-body.ts';
import { renderStatusJson } from '../../../src/report/pages/status-json.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { entry, report, sharing } from './fixtures.ts';

const COMMIT = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';
const LINK = `[\`a1b2c3d\`](https://github.com/acme/shop/commit/${COMMIT})`;

const passed: HeadVerification = { of: 'head', commit: COMMIT, verification: { kind: 'passed', durationMs: 9000 } };
const failed: HeadVerification = {
  of: 'head',
  commit: COMMIT,
  verification: { kind: 'failed', command: 'npm test', code: 1, tail: 'Cannot find module "chalk"', durationMs: 9000 },
};
const baseFailed: VerificationRecord = {
  commit: COMMIT,
  commands: 'abc',
  kind: 'failed',
  command: 'npm test',
  exitCode: 1,
};

const ended = (change: Partial<WorkedReport>) => report({ kind: 'limit', reason: 'iterations' }, change);

/** Returns the texts about a run for people, by page. */
const pagesOf = (run: WorkedReport): Readonly<Record<string, string>> => ({
  body: buildPullRequestText(run, 0).body.replace(/<!--.*?-->/gs, ''),
  summary: renderSummary(run),
  comment: renderStatusComment(run, 'issue-12'),
});

describe.each(['body', 'summary', 'comment'] as const)('%s', (page) => {
  const shown = (change: Partial<WorkedReport>): string => pagesOf(ended(change))[page] ?? '';

  test.each<[string, Partial<WorkedReport>, string]>([
    [
      'that it fails, although it passed in the work tree',
      { headVerification: failed },
      `❌ \`npm test\` **fails** in a clean clone of ${LINK}, although it passed in the work tree: nothing that this run finished counts as done yet. The next prompt says so. What \`verify\` needs must be committed, or installed by \`verify\` itself.\n`,
    ],
    [
      'that it fails, where the work tree had not been verified',
      { headVerification: failed, iterations: [] },
      `❌ \`npm test\` **fails** in a clean clone of ${LINK}: nothing that this run finished counts as done yet.\n`,
    ],
    [
      'that an earlier commit passes, and no more than that',
      { headVerification: { ...passed, of: 'earlier' } },
      `✅ \`npm test\` passes in a clean clone of ${LINK}. The commits after it have not been verified in this way.\n`,
    ],
    [
      'that an earlier commit fails',
      { headVerification: { ...failed, of: 'earlier' } },
      `❌ \`npm test\` **failed** in a clean clone of ${LINK}: what was finished by then is open again. The commits after it have not been verified in this way.\n`,
    ],
    [
      'that the base failed already',
      { baseVerification: baseFailed },
      '⚠️ `npm test` already failed on `main` before this work.\n',
    ],
  ])('says %s', (_what, change, line) => {
    expect(shown(change)).toContain(`\n\n${line}`);
  });

  test.each([
    [['npm test'], '`npm test` passes'],
    [['npm ci', 'npm test'], '`npm ci`, `npm test` pass'],
  ])('says that %j passes, and of which commit', (verifyCommands, words) => {
    expect(shown({ headVerification: passed, verifyCommands })).toContain(
      {
        body: `\n\n✅ ${words} in a clean clone of ${LINK}.\n`,
        summary: `\n\nVerified in a clean clone: ${LINK}.\n`,
        comment: `, verification passed in a clean clone of ${LINK}\n`,
      }[page],
    );
  });

  test('is empty if nothing is known, or the base passed', () => {
    for (const change of [{}, { baseVerification: { ...baseFailed, kind: 'passed', command: null } }] as const)
      expect(shown(change)).not.toMatch(/clean clone|before this work/);
  });

  test('says it above all that follows', () => {
    const text = shown({ headVerification: failed, baseVerification: baseFailed });
    const said = text.indexOf('❌ `npm test` **fails**');
    const base = text.indexOf('⚠️ `npm test` already failed');
    expect(said).toBeGreaterThan(0);
    expect(base).toBeGreaterThan(said);
    expect(text.slice(0, base)).not.toMatch(/^#{3}|^\|/m);
  });
});

describe('of the published head, a clean clone outranks the work tree', () => {
  test('in the words for verification', () => {
    const bad = pagesOf(ended({ headVerification: failed }));
    const word = '**failed**: `npm test` exited with code 1 in a clean clone';
    expect(bad['comment']).toContain(`verification ${word}`);
    expect(bad['body']).toContain('| Tests | **failing** in a clean clone |');
    expect(bad['body']).toMatch(/^## ❌ `npm test` fails; 1 of 2 tasks done$/m);
    expect(bad['summary']).toContain('<summary>Last output of <code>verify</code> in the clean clone</summary>');
    const good = pagesOf(ended({ headVerification: passed }));
    expect(good['comment']).toContain('verification passed in a clean clone');
    expect(good['body']).toContain('| Tests | passing in a clean clone |');
  });

  test('but a task that was never verified does not borrow it', () => {
    const [done, open] = ended({}).tasks;
    if (done === undefined || open === undefined) throw new Error('The run has no tasks.');
    const itemOf = (verification: 'passed' | 'failed' | 'not-run', headVerification = passed) =>
      pagesOf(ended({ headVerification, tasks: [sharing(done, { verification, iterations: 1 }), open] }))['body'];
    // The lines of tasks do not repeat the headline.
    expect(itemOf('passed')).not.toContain('`verify` passed');
    expect(itemOf('not-run')).not.toContain('`verify` passed');
    expect(itemOf('failed')).toContain(' · `verify` **failed** · 1 iteration');
    expect(itemOf('passed', failed)).toContain(' · `verify` passed · 1 iteration');
  });

  test.each<[HeadVerification | null, string, string]>([
    [passed, 'passing', 'failing'],
    [failed, 'failing', 'passing'],
    [{ ...failed, of: 'earlier' }, 'passing', 'passing'],
    [null, 'failing', 'failing'],
  ])('in the status for machines (%#)', (headVerification, tests, inWorkTree) => {
    const verification =
      inWorkTree === 'passing'
        ? ({ kind: 'passed', durationMs: 1 } as const)
        : ({ kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 } as const);
    const run = ended({ headVerification, baseVerification: baseFailed, iterations: [entry(1, { verification })] });
    const published = headVerification === null ? null : { commit: COMMIT, result: headVerification.verification.kind };
    const expected = { tests, verification: published, baseTests: 'failing' };
    expect(JSON.parse(renderStatusJson(run))).toMatchObject(expected);
    expect(parseHiddenStatus(buildPullRequestText(run, 0).body)).toMatchObject({ kind: 'found', status: expected });
  });
});
