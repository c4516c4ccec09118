import { describe, expect, test } from 'vitest';
import { qwenRules } from '../../../../src/agents/qwen/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';

const SUBSTITUTION = 'run any command inside `$(…)` of an allowed one';

test('the default rules', () => {
  expect(qwenRules(DEFAULT_RULES)).toEqual({
    own: {
      allow: [
        'read_file',
        'edit(/**)',
        'write_file(/**)',
        'run_shell_command(git add *)',
        'run_shell_command(git commit *)',
        'run_shell_command(git diff *)',
        'run_shell_command(git log *)',
        'run_shell_command(git status *)',
        'run_shell_command(npm *)',
        'run_shell_command(pytest *)',
        'run_shell_command(cd *)',
      ],
      deny: ['*..*', '~*', '-*', '* ~*', '* -*'].map((words) => `run_shell_command(cd ${words})`),
    },
    unmapped: [],
    allowsMore: SUBSTITUTION,
  });
});

describe('permissions', () => {
  test.each([
    [['Glob', 'TodoWrite', 'Skill'], []],
    [
      ['Bash', 'Bash(npm:*)'],
      ['run_shell_command', 'run_shell_command(npm *)'],
    ],
    [['WebFetch'], ['web_fetch']],
    [['WebFetch(domain:a.test)'], ['web_fetch(domain:a.test)']],
    [['WebFetch(domain:*.a.test)'], []],
    [
      ['WebSearch', 'Task'],
      ['web_search', 'agent'],
    ],
    [
      ['mcp__db', 'mcp__db__read', 'mcp__db__get_*'],
      ['mcp__db', 'mcp__db__read', 'mcp__db__get_*'],
    ],
    [['mcp__db__*_x'], []],
    [['Bash(:*)', 'Bash(a (b):*)', 'Bash(a:*b)'], []],
  ])('of %j', (rules, allow) => {
    expect(qwenRules(rules).own).toEqual({ allow, deny: [] });
  });
});

describe('what differs', () => {
  test.each([
    [['Read', 'Edit', 'WebSearch', 'Task', 'TodoWrite'], [], null],
    [['Bash', 'Bash(npm test)'], [], null],
    [['Bash(npm test)'], ['Bash(npm test)'], `${SUBSTITUTION}, and give other arguments to the commands named`],
    [['Bash(npm * -s)'], ['Bash(npm * -s)'], `${SUBSTITUTION}, and give other arguments to the commands named`],
    [['Bash(npm*)'], [], SUBSTITUTION],
    [['Edit(a/**)'], ['Edit(a/**)'], 'change every file of the repository'],
    [['Skill', 'Bash(:*)', 'Read(../x)'], ['Skill', 'Bash(:*)', 'Read(../x)'], null],
  ])('of %j', (rules, unmapped, allowsMore) => {
    expect(qwenRules(rules)).toMatchObject({ unmapped, allowsMore });
  });
});
