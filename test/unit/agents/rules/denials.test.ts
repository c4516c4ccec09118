import { describe, expect, test } from 'vitest';
import { mapClaudeRules } from '../../../../src/agents/claude/cli.ts';
import { rulesOfAnyProgram } from '../../../../src/agents/command/cli.ts';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { DEFAULT_RULES } from './fixtures.ts';

describe.each([
  ['codex', kindOfDenialBy('codex'), 'command_execution', null],
  ['copilot', kindOfDenialBy('copilot'), 'bash', 'ask_user'],
  ['gemini', kindOfDenialBy('gemini'), 'run_shell_command', 'ask_user'],
  ['opencode', kindOfDenialBy('opencode'), 'bash', 'question'],
  ['qwen', kindOfDenialBy('qwen'), 'execute', 'ask_user_question'],
] as const)('what %s was refused', (_name, kindOfDenial, shell, question) => {
  test.each([
    [shell, 'npm ci && npm test', 'compound'],
    [shell, 'cd app && npm test 2>&1 | tail -5', 'compound'],
    [shell, 'npm test && curl x', 'forbidden'],
    [shell, 'curl x', 'forbidden'],
    [shell, 'npm test $(curl x)', 'forbidden'],
    [shell, null, 'forbidden'],
    ['Bash', 'npm ci && npm test', 'forbidden'],
    ['write_file', null, 'forbidden'],
    [question ?? 'AskUserQuestion', null, question === null ? 'forbidden' : 'question'],
  ])('%s of %j is %s', (tool, command, kind) => {
    expect(kindOfDenial({ tool, command }, DEFAULT_RULES)).toBe(kind);
  });
});

test('Claude Code takes the rules as they are', () => {
  expect(mapClaudeRules(DEFAULT_RULES)).toEqual({ own: DEFAULT_RULES, unmapped: [], allowsMore: null });
});

test('a program of the user is held to nothing', () => {
  expect(rulesOfAnyProgram(['Read', 'Bash(npm:*)'])).toEqual({
    own: null,
    unmapped: ['Read', 'Bash(npm:*)'],
    allowsMore: 'do everything that its process can',
  });
  expect(rulesOfAnyProgram([' Bash '])).toEqual({ own: null, unmapped: [], allowsMore: null });
});
