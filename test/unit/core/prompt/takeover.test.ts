import { describe, expect, test } from 'vitest';
import { EMPTY_SHARE, type TaskShare } from '../../../../src/core/lane/change.ts';
import { composePrompt } from '../../../../src/core/prompt/prompt.ts';
import { describeTakeover, MAX_TAKEOVER_CHARS } from '../../../../src/core/prompt/diagnosis.ts';
import { entry } from '../../report/fixtures.ts';
import { promptParts } from '../core-fixtures.ts';

const share: TaskShare = {
  ...EMPTY_SHARE,
  iterations: 2,
  agents: ['codex', 'claude'],
  summary: 'Added the flag, not its test.',
  recommendation: 'Write the test.',
  verification: 'failed',
};
const of = { taskId: 'issue-12', entries: [], share };

describe('the work of another agent', () => {
  test('is described to the agent that takes over', () => {
    expect(describeTakeover('codex', of)).toEqual({
      from: 'claude',
      text: '2 iterations so far, verification failed.\nIt summed up: Added the flag, not its test.\nIt planned: Write the test.',
    });
  });

  test.each([
    ['of its own work', 'claude' as const, share],
    ['of a task that nobody worked on', 'codex' as const, EMPTY_SHARE],
  ])('is not said %s', (_, agent, of) => {
    expect(describeTakeover(agent, { taskId: 'issue-12', entries: [], share: of })).toBeNull();
  });

  test('names the iterations of this run on this task that came to something', () => {
    const limit = {
      analysis: { usageLimit: { window: 'weekly' as const, resumeAt: null } },
      verdict: { progress: false },
    };
    const entries = [entry(1), entry(2, { taskNumber: 13 }), entry(3, limit)];
    const text = describeTakeover('codex', { ...of, entries })?.text ?? '';
    expect(text.match(/Iteration \d+/g)).toEqual(['Iteration 1']);
  });

  test('is never longer than its room', () => {
    const long = 'word '.repeat(400);
    const entries = [1, 2, 3, 4].map((iteration) => entry(iteration, { recommendation: long }));
    const texts = describeTakeover('codex', {
      ...of,
      entries,
      share: { ...share, summary: long, recommendation: long },
    });
    expect(texts?.text.length).toBeLessThanOrEqual(MAX_TAKEOVER_CHARS);
  });
});

describe('the prompt', () => {
  test('holds it as data, behind marker lines', () => {
    const prompt = composePrompt({ ...promptParts, takeover: { from: 'claude', text: 'It planned: Write the test.' } });
    expect(prompt).toMatch(/Another agent \(claude\) worked on this task before you.*\n.*DONE[\s\S]*Write the test/);
  });

  test('says nothing about it to an agent that continues its own work', () => {
    expect(composePrompt(promptParts)).not.toContain('Another agent');
  });
});
