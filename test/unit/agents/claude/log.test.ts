import { expect, test } from 'vitest';
import { convertStreamEvent } from '../../../../src/agents/claude/cli.ts';
import { toLogLine } from '../../../../src/processes/output-tail.ts';
import type { StreamEvent } from '../../../../src/agents/claude/events/collector.ts';

const RETRY = { kind: 'retry', attempt: 1, maxRetries: 3, delayMs: 500, status: null, error: null } as const;

test.each<{ event: StreamEvent; line: string }>([
  { event: { kind: 'text', nested: false, text: 'I will\nwrite   it.' }, line: 'I will write it.' },
  { event: { kind: 'text', nested: true, text: 'found it' }, line: 'subagent: found it' },
  {
    event: { kind: 'tool-use', nested: false, name: 'Bash', input: 'npm test\n::error::x' },
    line: '→ Bash npm test ::error::x',
  },
  { event: { kind: 'tool-use', nested: false, name: 'Task', input: '' }, line: '→ Task' },
  { event: { kind: 'tool-result', failed: true }, line: '← failed' },
  { event: { kind: 'tool-result', failed: false }, line: '' },
  { event: { kind: 'unshown' }, line: '' },
  { event: { kind: 'denied', tool: 'Bash' }, line: 'denied: Bash' },
  { event: { ...RETRY, status: 529, error: 'overloaded' }, line: 'the API answered 529: try 1 of 3' },
  { event: RETRY, line: 'the API answered with an error: try 1 of 3' },
  { event: { kind: 'result', failed: false, text: 'Done.', turns: 3 }, line: 'agent done after 3 turns' },
  { event: { kind: 'result', failed: false, text: 'Done.', turns: 1 }, line: 'agent done after 1 turn' },
  { event: { kind: 'result', failed: false, text: 'Done.', turns: null }, line: 'agent done' },
  { event: { kind: 'result', failed: true, text: 'Invalid API key', turns: 1 }, line: 'agent failed: Invalid API key' },
])('$event is shown as "$line"', ({ event, line }) => {
  expect(convertStreamEvent(event).line).toBe(line);
});

test.each([
  { text: 'plain', limit: 5, line: 'plain' },
  { text: 'longer', limit: 5, line: 'long…' },
  { text: '😀😀😀', limit: 4, line: '😀…' },
  { text: '\u001b[31mred\u001b[0m\u0007', limit: 20, line: 'red' },
  { text: 'a\u2028b\u0085c\rd', limit: 20, line: 'a b c d' },
  { text: `a${' '.repeat(1000)}`, limit: 20, line: 'a' },
])('$text becomes one line of at most $limit characters', ({ text, limit, line }) => {
  expect(toLogLine(text, limit)).toBe(line);
});
