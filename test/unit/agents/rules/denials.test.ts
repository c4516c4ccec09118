import { describe, expect, test } from 'vitest';
import { mapRules as mapForClaude } from '../../../../src/agents/claude/cli.ts';
import { mapRules as mapForAnyProgram } from '../../../../src/agents/command/tool-rules.ts';
import * as codex from '../../../../src/agents/codex/tool-rules.ts';
import * as copilot from '../../../../src/agents/copilot/tool-rules.ts';
import * as gemini from '../../../../src/agents/gemini/tool-rules.ts';
import * as opencode from '../../../../src/agents/opencode/tool-rules.ts';
import * as qwen from '../../../../src/agents/qwen/tool-rules.ts';
import { DEFAULT_RULES } from './fixtures.ts';

describe.each([
  ['codex', codex.kindOfDenial, 'command_execution', null],
  ['copilot', copilot.kindOfDenial, 'bash', 'ask_user'],
  ['gemini', gemini.kindOfDenial, 'run_shell_command', 'ask_user'],
  ['opencode', opencode.kindOfDenial, 'bash', 'question'],
  ['qwen', qwen.kindOfDenial, 'run_shell_command', 'ask_user_question'],
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
  expect(mapForClaude(DEFAULT_RULES)).toEqual({ own: DEFAULT_RULES, unmapped: [], allowsMore: null });
});

test('a program of the user is held to nothing', () => {
  expect(mapForAnyProgram(['Read', 'Bash(npm:*)'])).toEqual({
    own: null,
    unmapped: ['Read', 'Bash(npm:*)'],
    allowsMore: 'do everything that its process can',
  });
  expect(mapForAnyProgram([' Bash '])).toEqual({ own: null, unmapped: [], allowsMore: null });
});
