import { expect, test } from 'vitest';
import { findGeminiGap, renderGeminiPolicy } from '../../../../src/agents/gemini/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';
import { policyEntries } from '../rules/matchers.ts';

test('a policy file as a whole', () => {
  expect(renderGeminiPolicy(['Edit(src/**)', 'Bash(npm test)', 'mcp__db__*'])).toMatchInlineSnapshot(`
    "[[rule]]
    toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search"]
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = ["search_file_content", "write_todos", "update_topic", "complete_task"]
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = ["write_file", "replace"]
    decision = "ask_user"
    priority = 500

    [[rule]]
    toolName = "run_shell_command"
    decision = "ask_user"
    priority = 500

    [[rule]]
    mcpName = "*"
    toolName = "*"
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = "*"
    decision = "deny"
    priority = 1
    "
  `);
});

test.each([
  [['Read', 'Glob', 'TodoWrite', 'Skill', 'Task', 'Read(src)', 'WebFetch(domain:a.test)', 'mcp__db__get_*'], []],
  [['Write', 'Edit'], ['ask_user']],
  [DEFAULT_RULES, ['ask_user', 'ask_user']],
  [
    ['WebFetch', 'WebSearch', 'mcp__db', 'mcp__db__find'],
    ['allow', 'allow', 'allow'],
  ],
])('of %j', (rules, decisions) => {
  expect(
    policyEntries(renderGeminiPolicy(rules))
      .slice(2, -1)
      .map(({ decision }) => decision),
  ).toEqual(decisions);
});

test.each([
  [DEFAULT_RULES, []],
  [['Edit(src/**)', 'Bash(ls a?)', 'WebFetch', 'mcp__db', 'TodoWrite', 'Read(src/**)'], []],
  [['Task', 'Skill', 'WebFetch(domain:a.test)', 'mcp__db__get_*', 'Read(~/x)'], null],
])('what cannot be followed of %j', (rules, unmapped) => {
  expect(findGeminiGap(rules)).toEqual({ unmapped: unmapped ?? rules, allowsMore: null });
});
