import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { AGENT_NAMES, type AgentName } from '../../../../src/core/agent-names.ts';
import { parseJournal, type Journal } from '../../../../src/core/journal/parse-journal.ts';
import { replayDecisions } from '../../../../src/core/journal/replay.ts';
import { HOUR, noon, policy, progress, type Play } from '../../core/core-fixtures.ts';
import { record } from '../../core/journal/journal-fixtures.ts';
import { ralph } from '../fixture.ts';

const claudeRules = kindOfDenialBy('claude');

/**
 * Returns a run in which the agent was refused two calls: it continues if each part of them is allowed, and halts
 * otherwise.
 */
function refused(agent: AgentName, shell: string): string {
  const denial = { tool: shell, command: 'npm ci && npm test' };
  const play: Play = { output: { denials: [denial, denial] } };
  return record([play], { policy: { ...policy, agents: [agent] } }, kindOfDenialBy).text;
}

async function replayed(text: string): Promise<{ readonly code: number; readonly differences: readonly object[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-replay-'));
  try {
    const file = join(folder, 'journal.jsonl');
    await writeFile(file, text);
    const { code, out } = await ralph(['replay', file, '--json']);
    return { code, differences: (JSON.parse(out) as { differences: readonly object[] }).differences };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function journalOf(text: string): Journal {
  const parsed = parseJournal(text);
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal;
}

/** Returns the agents whose rules a replay requests, one per iteration. */
function askedIn(journal: Journal): readonly AgentName[] {
  const asked: AgentName[] = [];
  replayDecisions(journal, (agent) => {
    asked.push(agent);
    return kindOfDenialBy(agent);
  });
  return asked;
}

describe("an agent's denials are judged by its own rules", () => {
  test.each<[AgentName, string]>([
    ['codex', 'command_execution'],
    ['gemini', 'run_shell_command'],
    ['opencode', 'bash'],
    ['copilot', 'bash'],
    ['qwen', 'run_shell_command'],
    ['command', 'Bash'],
  ])('%s', async (agent, shell) => {
    const text = refused(agent, shell);
    expect(await replayed(text)).toEqual({ code: 0, differences: [] });
    // With Claude Code's rules the same run would have ended differently.
    expect(replayDecisions(journalOf(text), () => claudeRules)).not.toEqual([]);
  });

  test('that of a run which was handed on: by those of the agent that made the call', async () => {
    const limit: Play = {
      output: { usageLimit: { window: 'five-hour', resumeAt: new Date(noon + HOUR).toISOString() } },
    };
    const denial = { tool: 'command_execution', command: 'npm ci && npm test' };
    const { text } = record(
      [limit, progress({ output: { denials: [denial] } })],
      { policy: { ...policy, agents: ['claude', 'codex'] } },
      kindOfDenialBy,
    );
    const journal = journalOf(text);
    expect(journal.entries.map(({ agent }) => agent)).toEqual(['claude', 'codex']);
    expect(await replayed(text)).toEqual({ code: 0, differences: [] });
    expect(askedIn(journal)).toEqual(['claude', 'codex']);
  });
});

test('a journal of before there were several agents names the first of its policy', () => {
  const { text } = record([progress()]);
  expect(askedIn(journalOf(text.replace('"agent":"claude"', '"agent":null')))).toEqual(['claude']);
});

test('every agent has rules', () => {
  for (const agent of AGENT_NAMES)
    expect(kindOfDenialBy(agent)({ tool: 'write', command: null }, [])).toBe('forbidden');
});
