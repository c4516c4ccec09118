import { expect, test } from 'vitest';
import { limitIssueSearch, parseIssueQuery } from '../../../../src/core/tasks/issue-query.ts';

test.each<[string, readonly string[]]>([
  ['label:bug', ['label:bug']],
  ['LABEL:Bug is:open', ['label:bug']],
  ['label:"good first issue" label:bug', ['label:good first issue', 'label:bug']],
  ['label:bug label:BUG', ['label:bug']],
  ['author:ann', ['author:ann']],
  ['assignee:ann milestone:"2.0 beta" type:Bug', ['assignee:ann', 'milestone:2.0 beta', 'type:bug']],
  ['project:acme/3 project:acme/4', ['project:']],
  ['label:a AND label:b', ['label:a', 'label:b']],
  ['label:a,b label:"c d","e,f"', ['label:a', 'label:b', 'label:c d', 'label:e,f']],
  ['author:app/renovate Author:"Ann"', ['author:renovate[bot]', 'author:ann']],
  ['assignee:* milestone:* project:*', []],
  ['-is:closed is:open is:issue state:open label:bug', ['label:bug']],
  ['is:open crash', []],
  ['type:issue label:bug', ['label:bug']],
  ['crash "label:bug" in:title', []],
  ['-label:bug no:assignee', []],
  ['NOT label:bug', []],
  ['label:bug OR author:ann', []],
  ['label:bug or crash', []],
  ['label:"x" OR is:open', []],
  ['is:open OR(label:x)', []],
  ['label:x AND NOT label:y', []],
  ['-(label:x)', []],
  ['no:label -label:x -author:"ann" -assignee:ann', []],
  ['"label:x" “label:y” label：z', []],
  ['(label:bug)', []],
  ['label:bug (crash OR hang)', []],
  ['label: bug', []],
  ['xlabel:bug involves:ann mentions:ann', []],
])('%s demands %j', (text, demands) => {
  expect(parseIssueQuery(text)).toMatchObject({ demands });
});

test.each<[string, string]>([
  ['repo:other/place label:bug', '`repo:other/place`'],
  ['-repo:acme/shop', '`-repo:acme/shop`'],
  ['ORG:acme label:bug', '`ORG:acme`'],
  ['user:acme', '`user:acme`'],
  ['label:bug is:closed', '`is:closed`: the search is always of open issues'],
  ['State:CLOSED label:bug', '`State:CLOSED`'],
  ['is:pr author:ann', '`is:pr`'],
  ['type:pr author:ann', '`type:pr`'],
  ['author:@me', '`author:@me`: a run has no account of its own, so write the login'],
  ['assignee:@Me', '`assignee:@Me`'],
  ['label:bug) OR (repo', 'parentheses that do not match'],
  ['(label:bug', 'parentheses that do not match'],
  ['label:"bug', 'never closed'],
  [String.raw`label:"a\" b"`, 'a backslash'],
  ['label:a\u0000b', 'a control character'],
  ['a OR b OR c OR d OR e AND f NOT g', 'more than 5 operators'],
  ['w'.repeat(257), 'more than 256 characters'],
])('%s is refused', (text, why) => {
  expect(parseIssueQuery(text)).toContain(why);
});

test('a long search is fine as long as its words are few', () => {
  expect(parseIssueQuery(`${'w'.repeat(256)} ${'label:abc '.repeat(100)}`)).toMatchObject({ demands: ['label:abc'] });
});

test('lines are one search', () => {
  expect(parseIssueQuery(' label:bug\n\tcrash ')).toEqual({ text: 'label:bug crash', demands: ['label:bug'] });
});

test.each([
  ['label:bug crash', 'repo:acme/shop is:issue is:open label:bug crash'],
  ['label:bug OR crash', 'repo:acme/shop is:issue is:open (label:bug OR crash)'],
  ['crash or hang', 'repo:acme/shop is:issue is:open (crash or hang)'],
])('%s is limited to the repository', (text, limited) => {
  expect(limitIssueSearch(text, { owner: 'acme', repo: 'shop' })).toBe(limited);
});
