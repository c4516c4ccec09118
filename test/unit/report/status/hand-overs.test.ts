import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../../../src/core/journal/journal.ts';
import {
  countCalledAgents,
  describeHandOvers,
  describeIdleAgents,
} from '../../../../src/report/sentences/lane-status.ts';
import { entry } from '../fixtures.ts';

const until = Date.parse('2026-11-21T14:00:00Z');
type Turn = Pick<JournalEntry, 'agent' | 'passedOver'>;
const claude: Turn = { agent: 'claude', passedOver: [] };
const codex = (why: JournalEntry['passedOver'][number]['why']): Turn => ({
  agent: 'codex',
  passedOver: [{ name: 'claude', why, until }],
});
const lines = (...turns: readonly Turn[]): readonly string[] =>
  describeHandOvers(turns.map((turn, at) => entry(at + 1, turn)));

describe('who took over, and why', () => {
  test.each<[string, readonly Turn[], readonly string[]]>([
    ['one agent', [claude, claude], []],
    ['a journal that names nobody', [{ agent: null, passedOver: [] }], []],
    [
      'at its limit',
      [claude, claude, codex('limit'), codex('limit')],
      ['claude was at its usage limit until 2026-11-21 14:00 UTC, so codex took over in iteration 3.'],
    ],
    ['no credit', [claude, codex('billing')], ['claude had no credit, so codex took over in iteration 2.']],
    ['a refused key', [claude, codex('auth')], ["claude's key was refused, so codex took over in iteration 2."]],
    ['failures', [claude, codex('failing')], ["claude's provider kept failing, so codex took over in iteration 2."]],
    [
      'since an earlier run',
      [codex('limit')],
      ['claude was at its usage limit until 2026-11-21 14:00 UTC, so codex worked from iteration 1 on.'],
    ],
    [
      'there and back',
      [claude, codex('failing'), claude],
      [
        "claude's provider kept failing, so codex took over in iteration 2.",
        'claude could be called again, so it continued in iteration 3.',
      ],
    ],
  ])('%s', (_, turns, expected) => {
    expect(lines(...turns)).toEqual(expected);
  });

  test('who waits while another agent works', () => {
    const providers = { claude: { kind: 'open', why: 'billing', until } } as const;
    const line = 'claude is not called until 2026-11-21 14:00 UTC (in 30 min): it has no credit';
    const now = until - 30 * 60_000;
    expect(describeIdleAgents({ agent: 'codex', providers }, now)).toEqual([line]);
    // A single agent is called anyway.
    expect(describeIdleAgents({ agent: 'claude', providers }, now)).toEqual([]);
    expect(describeIdleAgents({ agent: 'codex', providers }, until)).toEqual([]);
  });

  test('who was called how often', () => {
    const turns = [claude, codex('limit'), claude].map((turn, at) => entry(at + 1, turn));
    expect(countCalledAgents(turns)).toEqual([
      { agent: 'claude', iterations: 2 },
      { agent: 'codex', iterations: 1 },
    ]);
    expect(countCalledAgents([entry(1)])).toEqual([]);
  });
});
