import { expect, test } from 'vitest';
import type { AgentName } from '../../../../src/core/agent-names.ts';
import { lackOf } from '../../../../src/core/agents/capability-words.ts';

test.each<readonly [name: AgentName, lack: string | null]>([
  ['claude', null],
  [
    'codex',
    'Codex tells no cost, reports no refused tools, has a sandbox instead of rules for single commands and takes no limit of turns.',
  ],
  ['gemini', 'Gemini CLI tells no cost and takes no limit of turns.'],
  ['opencode', 'OpenCode takes no limit of turns.'],
  ['copilot', 'GitHub Copilot CLI tells no cost and takes no limit of turns.'],
  ['qwen', 'Qwen Code tells no cost.'],
  [
    'command',
    'Your command continues no conversation, tells no tokens, tells no cost, reports no refused tools, follows no rules of tools and takes no limit of turns.',
  ],
])('%s', (name, lack) => {
  expect(lackOf(name)).toBe(lack);
});
