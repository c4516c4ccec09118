import { describe, expect, test } from 'vitest';
import { summarizeHistory, type TaskHistory, listTaskHistories } from '../../../../src/core/history/task-history.ts';
import { emptySnapshot } from '../../../../src/core/snapshot/snapshot.ts';
import { renderHistoryPage } from '../../../../src/report/history/history-page.ts';
import { formatLong, renderHistory } from '../../../../src/report/history/history-text.ts';
import { noon } from '../../core/core-fixtures.ts';
import { publishedPull, pullTask, wholeHistory, withEnded } from '../../core/history/history-fixture.ts';

const pageOf = (tasks: readonly TaskHistory[], repository: string | null = 'https://github.com/acme/shop'): string =>
  renderHistoryPage({ history: summarizeHistory(tasks), tasks, repository, now: noon });
const whole = listTaskHistories(wholeHistory());

describe('the page', () => {
  test('is the one that was looked at in a browser (vitest -u writes it)', async () => {
    await expect(pageOf(whole)).toMatchFileSnapshot('__snapshots__/history-page.txt');
  });

  test('loads nothing, runs nothing, and forbids both', () => {
    const page = pageOf(whole);
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\bon\w+=|javascript:/i);
    expect(page.replaceAll('<a href="https://github.com/acme/shop', '')).not.toMatch(/https?:/);
    expect(page).not.toMatch(/\bundefined\b|\bNaN\b|Infinity|\[object Object\]|\$0\.00/);
  });

  test.each(['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onmouseover='x", '&lt;b&gt;'])(
    'shows %j as text, wherever a stranger may write it',
    (text) => {
      const own = pullTask({ title: text, labels: [text], agent: text, model: text, labelledAt: null });
      const snapshot = withEnded(emptySnapshot, publishedPull({ tasks: [own] }), {});
      const page = pageOf(listTaskHistories(snapshot), `https://github.com/acme/${text}`);
      const escaped = text
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;');
      // Title, both labels, agent, two models, and the name and addresses of the repository.
      expect(page.split(escaped).length - 1).toBe(10);
      expect(page.replaceAll(escaped, '')).not.toContain(text);
    },
  );

  test('links no address that is not of the web', () => {
    expect(pageOf(whole, 'javascript:alert(1)/acme/shop')).not.toContain('href');
    expect(pageOf(whole, null)).not.toContain('href');
  });

  test('says that a cost is unknown, and never that it is $0.00', () => {
    const tasks = [pullTask({ costUsd: null, agent: 'codex' })];
    const page = pageOf(listTaskHistories(withEnded(emptySnapshot, publishedPull({ costUsd: null, tasks }), {})));
    expect(page).toContain('<dt>cost per merged task</dt><dd>unknown</dd>');
    expect(page).toContain('The cost of 1 merged task is unknown and not in the average.');
    expect(page).toContain('cost unknown');
    expect(page).not.toContain('$0.00');
  });

  test('of a repository without a pull request says so', () => {
    expect(pageOf([])).toContain('No run has published a pull request');
    expect(pageOf([])).not.toContain('<svg');
  });
});

describe('the table for a terminal', () => {
  test('of a whole repository', () => {
    expect(renderHistory(summarizeHistory(whole), { title: 'acme/shop', now: noon })).toMatchSnapshot();
  });

  test('of nothing', () => {
    expect(renderHistory(summarizeHistory([]), { title: '', now: noon })).toMatchInlineSnapshot(`
      "2026-11-21 12:00 UTC: 0 tasks: 0 merged, 0 not merged, 0 open

      No run has published a pull request yet.
      "
    `);
  });

  test('of tasks that are not merged', () => {
    const closed = listTaskHistories(withEnded(emptySnapshot, publishedPull(), { kind: 'closed' }));
    expect(renderHistory(summarizeHistory(closed), { title: '', now: noon })).toMatchInlineSnapshot(`
      "2026-11-21 12:00 UTC: 1 task: 0 merged, 1 not merged, 0 open

      No task is merged yet.
      1 task ended without a merge, for $1.00.
      "
    `);
  });

  test.each([
    [0, '0 min'],
    [59 * 60_000, '59 min'],
    [71 * 3_600_000, '71 h'],
    [72 * 3_600_000, '3 days'],
  ])('%i ms is %s', (ms, text) => {
    expect(formatLong(ms)).toBe(text);
  });
});
