import { describe, expect, test } from 'vitest';
import { geminiRules } from '../../../../src/agents/gemini/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';
import { policyEntries } from '../rules/matchers.ts';

/** Returns the tools of the entries, without those that are always present. */
const tools = (...rules: readonly string[]) =>
  policyEntries(geminiRules(rules).own)
    .slice(2, -1)
    .map(({ toolName, mcpName }) => (mcpName === undefined ? toolName : [mcpName, toolName]));

test('a policy file as a whole', () => {
  expect(geminiRules(['Edit', 'Bash(npm test)', 'mcp__db__*']).own).toMatchInlineSnapshot(`
    "[[rule]]
    toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = ["write_todos", "update_topic", "complete_task"]
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = ["write_file", "replace"]
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = "run_shell_command"
    commandRegex = "npm test(?:\\"\\\\u0000| ?(?:&&|[|][|]|;|[|]|\\\\\\\\n))"
    allowRedirection = true
    decision = "allow"
    priority = 500

    [[rule]]
    mcpName = "db"
    toolName = "*"
    decision = "allow"
    priority = 500

    [[rule]]
    toolName = "run_shell_command"
    commandRegex = "(?:cd (?![\\\\w./:=@%+,-]*[.][.])[\\\\w./][\\\\w./:=@%+,-]*|(?![ \\\\w./:=@%+,-]*(?:[.][.]|[ =]/| -\\\\w/))(?:pwd|ls|cat|head|tail|grep|wc|echo|true)(?:| [ \\\\w./:=@%+,-]*))(?:\\"\\\\u0000| ?(?:&&|[|][|]|;|[|]|\\\\\\\\n))"
    allowRedirection = true
    decision = "allow"
    priority = 400

    [[rule]]
    toolName = "*"
    decision = "deny"
    priority = 1
    "
  `);
});

describe('tools', () => {
  test.each([
    [[], []],
    [['Read', 'Glob', 'TodoWrite', 'Skill'], []],
    [['Edit'], [['write_file', 'replace']]],
    [['Bash'], ['run_shell_command']],
    // The second entry contains the commands that only read.
    [['Bash(npm:*)'], ['run_shell_command', 'run_shell_command']],
    [['WebFetch'], ['web_fetch']],
    [['WebFetch(domain:a.test)'], []],
    [['WebSearch'], ['google_web_search']],
    [['Task'], ['invoke_agent']],
    [['mcp__db'], [['db', '*']]],
    [['mcp__db__read'], [['db', 'read']]],
    [['mcp__db__read_*'], []],
  ])('of %j', (rules, expected) => {
    expect(tools(...rules)).toEqual(expected);
  });
});

describe('what differs', () => {
  test.each([
    [DEFAULT_RULES, [], null],
    [['Bash(npm test)', 'Bash(npm * -s)', 'Bash'], [], null],
    [['WebFetch(domain:a.test)', 'mcp__db__a*', 'Skill'], ['WebFetch(domain:a.test)', 'mcp__db__a*', 'Skill'], null],
    [['Edit(src/**)', 'Edit'], [], null],
    [['Edit(src/**)'], ['Edit(src/**)'], 'change every file of the repository'],
    [['Read(/src/**)', 'Read(//etc/**)', 'Read(../x)'], ['Read(//etc/**)', 'Read(../x)'], null],
    [['Bash(:*)', `Bash(${'x'.repeat(2_000)})`], ['Bash(:*)', `Bash(${'x'.repeat(2_000)})`], null],
  ])('of %j', (rules, unmapped, allowsMore) => {
    expect(geminiRules(rules)).toMatchObject({ unmapped, allowsMore });
  });
});
