import { describe, expect, test } from 'vitest';
import { opencodeRules } from '../../../../src/agents/opencode/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';
import { wildcard } from '../rules/matchers.ts';

/** Returns the permission of a key or a tool's name: the last match counts. */
const permitted = (rules: readonly string[], key: string) =>
  Object.entries(opencodeRules(rules).own).findLast(([pattern]) => wildcard(pattern).test(key))?.[1];

describe('a permission', () => {
  test.each([
    [[], 'read', 'allow'],
    [[], 'todowrite', 'allow'],
    [[], 'edit', 'deny'],
    [['Write'], 'edit', 'allow'],
    [['Bash'], 'bash', 'allow'],
    [['Read', 'Edit'], 'bash', 'deny'],
    [['Bash(:*)'], 'bash', 'deny'],
    [['WebFetch'], 'webfetch', 'allow'],
    [['WebFetch(domain:*.a.test)'], 'webfetch', 'deny'],
    [['WebFetch(domain:a.test)'], 'webfetch', { '*': 'deny', 'https://a.test': 'allow', 'https://a.test/*': 'allow' }],
    [['WebSearch'], 'websearch', 'allow'],
    [['Task'], 'task', 'allow'],
    [['mcp__my-db__read.all'], 'my-db_read_all', 'allow'],
    [['mcp__my-db__read.all'], 'my-db_write', 'deny'],
    [['mcp__db'], 'db_write', 'allow'],
    [['mcp__db__get_*'], 'db_get_x', 'allow'],
    [['mcp__external__*', 'mcp__doom'], 'external_directory', 'deny'],
    [['mcp__external__*', 'mcp__doom'], 'doom_loop', 'deny'],
    [['mcp__plan'], 'plan_exit', 'deny'],
    [[...DEFAULT_RULES], 'external_directory', 'deny'],
    [[...DEFAULT_RULES], 'an_unknown_tool', 'deny'],
  ] as const)('of %j for %s', (rules, key, expected) => {
    expect(permitted(rules, key)).toEqual(expected);
  });

  test('of commands: what leads out of the work tree is refused, but for the commands of the user', () => {
    const bash = opencodeRules(['Bash(git add:*)', 'Bash(npm test)', 'Bash(npm run x*)']).own['bash'] ?? {};
    const patterns = Object.entries(bash);
    expect(patterns[0]).toEqual(['*', 'deny']);
    expect(patterns.slice(-4)).toEqual([
      ['git add', 'allow'],
      ['git add *', 'allow'],
      ['npm test', 'allow'],
      ['npm run x*', 'allow'],
    ]);
    expect(patterns.findIndex(([, action]) => action === 'allow')).toBeLessThan(
      patterns.findLastIndex(([, action]) => action === 'deny'),
    );
  });
});

describe('what differs', () => {
  test.each([
    [DEFAULT_RULES, [], null],
    [['Bash(ls a?)', 'Bash(~/x)', 'Bash($HOME/x:*)', 'Bash(a\\b)', 'Bash(echo {env:X})'], null, null],
    [['Skill', 'WebFetch(domain:*.a.test)', 'Read(~/x)'], null, null],
    [['mcp__db__get_*', 'WebFetch(domain:a.test)', 'Task', 'TodoWrite', 'Bash(*)'], [], null],
    [['Edit(src/**)'], null, 'change every file of the repository'],
  ])('of %j', (rules, unmapped, allowsMore) => {
    expect(opencodeRules(rules)).toMatchObject({ unmapped: unmapped ?? rules, allowsMore });
  });
});
