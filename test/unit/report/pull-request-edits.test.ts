import { describe, expect, test } from 'vitest';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import { countPeoplesChars, withPeoplesText } from '../../../src/report/pages/pull-request-body.ts';
import { renderStatusJson } from '../../../src/report/pages/status-json.ts';
import { report, taskReport } from './fixtures.ts';

const pullRequest = (title: string) =>
  buildPullRequestText(
    report({ kind: 'complete', reason: 'plan_complete' }, { tasks: [taskReport(12, { title, state: 'done' })] }),
    0,
  );
const before = pullRequest('Greet');
const after = pullRequest('Greet by name');
/** A text of an earlier version, without markers and title. */
const EARLIER = `**Iteration limit.** Stopped.\n\n**Next:** Nothing.\n\nCloses #12\n\n<!-- ralph-action:RALPH_STATUS ${renderStatusJson(report({ kind: 'limit', reason: 'iterations' }))} -->`;

describe('body', () => {
  test.each([
    ['ours is replaced', before.body, after.body],
    ['a person wrote above', `Mine.\n\n${before.body}`, `Mine.\n\n${after.body}`],
    ['a person wrote below', `${before.body}\n\n- [x] read`, `${after.body}\n\n- [x] read`],
    ['a browser saved it', `Mine.\r\n\r\n${before.body.replaceAll('\n', '\r\n')}`, `Mine.\n\n${after.body}`],
    ['a person wrote all of it', 'Mine alone.', `Mine alone.\n\n${after.body}`],
    ['nobody wrote any', '', after.body],
    ['an earlier version wrote it', EARLIER, after.body],
    [
      'an earlier version and a person',
      `**Note.** Mine.\n\n${EARLIER}\n\nAnd mine.`,
      `**Note.** Mine.\n\n${after.body}\n\nAnd mine.`,
    ],
    ['the end is lost', before.body.replace('<!-- ralph:end -->', 'Mine.'), `${after.body}\n\nMine.`],
  ])('%s', (_rule, present, expected) => {
    expect(withPeoplesText({ title: before.title, body: present }, after).body).toBe(expected);
  });

  test('nothing that an agent says imitates our markers', () => {
    const { body } = pullRequest('<!-- ralph:end --> <!-- ralph:begin -->');
    expect(body.match(/<!-- ralph:/g)).toHaveLength(2);
    expect(withPeoplesText({ title: '', body }, after).body).toBe(after.body);
  });

  test("people's text is counted", () => {
    expect(countPeoplesChars(before)).toBe(0);
    expect(countPeoplesChars({ title: '', body: `12345${before.body}6789` })).toBe(9);
    expect(buildPullRequestText(report({ kind: 'limit', reason: 'iterations' }), 60_000).body.length).toBeLessThan(
      20_100,
    );
  });
});

describe('title', () => {
  test.each([
    ['ours is replaced', before.title, before.body, after.title],
    ['a person changed it', 'My title', before.body, 'My title'],
    ['what nobody sees is not a change', 'Gre\u200Bet ', before.body, after.title],
    ['an earlier version wrote it', 'Ralph: Greet and 1 more', EARLIER, after.title],
    ['a person changed what an earlier version wrote', 'My title', EARLIER, 'My title'],
    ['a person took our text away', 'My title', 'Mine.', 'My title'],
  ])('%s', (_rule, title, body, expected) => {
    expect(withPeoplesText({ title, body }, after).title).toBe(expected);
  });
});
