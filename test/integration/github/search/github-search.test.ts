import { describe, expect, test } from 'vitest';
import { closeIssue, giveIssue, takeFromIssue } from '../../../../testbed/github/people.ts';
import { addIssue, type GivenField } from '../../../../testbed/github/state.ts';
import { now, openForge, refusedWith } from '../github-fixture.ts';

const issue = { title: 'Add a greeting', body: 'Say hello.', labels: [], author: 'stranger' };
const SEARCH = { path: /^\/search\/issues$/ };

describe('a search', () => {
  test('finds open issues of this repository only, oldest first, 100 at a time', async () => {
    await using at = await openForge();
    for (let count = 0; count < 120; count += 1) addIssue(at.github.state, { ...issue, labels: ['bug'] }, now);
    addIssue(at.github.state, issue, now);
    closeIssue(at.github.state, 3, { by: 'octo', now });
    const found = await at.forge.searchIssues('label:bug greeting');
    expect(found).toHaveLength(119);
    expect(found.slice(0, 3)).toMatchObject([{ number: 1 }, { number: 2 }, { number: 4, title: 'Add a greeting' }]);
    expect(at.forge.requests().sent).toBe(2);
    expect(new URLSearchParams(at.github.requests[0]?.query).get('q')).toMatch(
      /^repo:[\w-]+\/[\w-]+ is:issue is:open label:bug greeting$/,
    );
    expect(at.github.violations).toEqual([]);
  });

  test.each([
    ['milestone', '2.0 beta', 'milestone:"2.0 beta"'],
    ['type', 'Bug', 'type:bug'],
    ['assignee', 'octo', 'assignee:octo'],
    ['project', 'octo/3', 'project:octo/3'],
  ] satisfies [GivenField, string, string][])('finds by %s', async (field, what, query) => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    addIssue(at.github.state, issue, now);
    giveIssue(at.github.state, 2, { field, what, by: 'octo', now });
    expect((await at.forge.searchIssues(query)).map(({ number }) => number)).toEqual([2]);
  });

  test('that GitHub refuses is a mistake in the configuration, with its words', async () => {
    await using at = await openForge();
    const { kind, message } = await refusedWith(at.forge.searchIssues('author:nobody-here'));
    expect(kind).toBe('configuration');
    expect(message).toContain('`issue-query` (author:nobody-here)');
    expect(message).toContain('The listed users cannot be searched');
    expect(message).toContain('Correct the setting `issue-query`');
  });

  test('whose result is incomplete fails', async () => {
    await using at = await openForge();
    const body = { total_count: 0, incomplete_results: true, items: [] };
    at.github.faults.inject({ match: SEARCH, times: 1, effect: { kind: 'answer', status: 200, body } });
    const { kind, message } = await refusedWith(at.forge.searchIssues('label:bug'));
    expect(kind).toBe('infrastructure');
    expect(message).toContain('found only a part of the issues (label:bug)');
  });

  test.each([
    [1, 'is tried again after the pause'],
    [2, 'ends the run'],
  ])('beyond the limit of a minute, %i times, %s', async (times) => {
    await using at = await openForge();
    addIssue(at.github.state, { ...issue, labels: ['bug'] }, now);
    const headers = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-limit': '30',
      'x-ratelimit-resource': 'search',
      'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 1),
      'retry-after': '1',
    };
    const body = { message: 'API rate limit exceeded for installation ID 1.' };
    at.github.faults.inject({ match: SEARCH, times, effect: { kind: 'answer', status: 403, body, headers } });
    if (times === 1) expect(await at.forge.searchIssues('label:bug')).toHaveLength(1);
    else {
      const { kind, message } = await refusedWith(at.forge.searchIssues('label:bug'));
      expect(kind).toBe('infrastructure');
      expect(message).toContain('(30 requests a minute)');
    }
  });
});

describe('a history says who gave what is demanded', () => {
  const given = async (
    demands: readonly string[],
    events: readonly (readonly [kind: 'give' | 'take', field: GivenField, what: string])[],
  ): Promise<unknown> => {
    await using at = await openForge();
    addIssue(at.github.state, { ...issue, labels: ['Bug'], labelledBy: 'stranger' }, now);
    for (const [index, [kind, field, what]] of events.entries())
      (kind === 'give' ? giveIssue : takeFromIssue)(at.github.state, 1, {
        ...{ field, what, by: 'octo', now: now + 1000 * (index + 1) },
      });
    const history = (await at.forge.issueHistories([1], 'ralph', demands)).get(1);
    expect(at.github.violations).toEqual([]);
    return history?.given.map(({ kind, what, by }) => `${by?.login ?? '?'} ${kind} ${what}`);
  };

  test.each<[readonly string[], readonly (readonly ['give' | 'take', GivenField, string])[], readonly string[]]>([
    [['label:bug'], [], ['stranger set label:bug']],
    [['author:stranger'], [], ['stranger set author:stranger']],
    [['author:octo'], [], []],
    [['assignee:octo'], [['give', 'assignee', 'Octo']], ['octo set assignee:octo']],
    [
      ['assignee:octo'],
      [
        ['give', 'assignee', 'octo'],
        ['take', 'assignee', 'octo'],
      ],
      ['octo set assignee:octo', 'octo unset assignee:octo'],
    ],
    [
      ['milestone:2.0'],
      [
        ['give', 'milestone', '2.0'],
        ['give', 'milestone', '3.0'],
      ],
      ['octo set milestone:2.0', 'octo unset milestone:2.0'],
    ],
    [
      ['type:bug'],
      [
        ['give', 'type', 'Bug'],
        ['give', 'type', 'Task'],
      ],
      ['octo set type:bug', 'octo unset type:bug'],
    ],
    [
      ['project:'],
      [
        ['give', 'project', 'octo/3'],
        ['give', 'project', 'eve/1'],
      ],
      ['octo set project:', 'octo set project:'],
    ],
    [[], [['give', 'milestone', '2.0']], []],
  ])('%j after %j', async (demands, events, expected) => {
    expect(await given(demands, events)).toEqual(expected);
  });
});
