import { expect, test } from 'vitest';
import { findOpencodeGap, mapOpencodePermissions } from '../../../../src/agents/opencode/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';

const SERVERS = { 'external_*': 'allow', 'tools_*': 'deny', tools_greet: 'allow' } as const;

/** Returns the permission of a tool: of the patterns that match its name, the last counts. */
const permitted = (rules: readonly string[], tool: string) =>
  Object.entries(mapOpencodePermissions(rules, SERVERS)).findLast(([pattern]) =>
    new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(tool),
  )?.[1];

test.each([
  [[], 'read', 'allow'],
  [[], 'edit', 'deny'],
  [['Write'], 'edit', 'ask'],
  [['Read', 'Edit'], 'bash', 'deny'],
  [['Bash(npm:*)'], 'bash', 'ask'],
  [['Bash'], 'bash', 'ask'],
  [['WebFetch(domain:*.a.test)'], 'webfetch', 'ask'],
  [['WebSearch'], 'websearch', 'allow'],
  [['Task'], 'task', 'deny'],
  [[], 'tools_greet', 'allow'],
  [[], 'tools_other', 'deny'],
  [[], 'external_directory', 'ask'],
  [DEFAULT_RULES, 'an_unknown_tool', 'deny'],
] as const)('the permission of %j for %s', (rules, tool, expected) => {
  expect(permitted(rules, tool)).toBe(expected);
});

test.each([
  [DEFAULT_RULES, []],
  [['Edit(src/**)', 'Bash(ls a?)', 'WebFetch(domain:*.a.test)', 'mcp__db', 'TodoWrite'], []],
  [['Task', 'Skill', 'Read(~/x)'], null],
])('what cannot be followed of %j', (rules, unmapped) => {
  expect(findOpencodeGap(rules)).toEqual({ unmapped: unmapped ?? rules, allowsMore: null });
});
