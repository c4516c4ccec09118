import { describe, expect, test } from 'vitest';
import { createOutputReader } from '../../../../../src/agents/claude/output/reader.ts';
import type { StreamEvent } from '../../../../../src/agents/claude/events/collector.ts';
import {
  assistantLine,
  failedLine,
  INIT,
  jsonLines,
  NOW,
  rateLimitLine,
  resultLine,
  syntheticLine,
  toolResultLine,
  toolUseLine,
} from '../fixtures.ts';

/** Returns the events of an output that a person following the run sees. */
function shown(output: string): readonly StreamEvent[] {
  const events: StreamEvent[] = [];
  const reader = createOutputReader({ now: NOW, onEvent: (event) => events.push(event) });
  reader.push(new TextEncoder().encode(output));
  reader.end();
  return events;
}

const tool = (name: string, input: string): StreamEvent => ({ kind: 'tool-use', nested: false, name, input });
const text = (words: string, nested = false): StreamEvent => ({ kind: 'text', nested, text: words });

describe('of a stream is shown', () => {
  test.each<[string, string, readonly StreamEvent[]]>([
    ['what the agent says', assistantLine('hi'), [text('hi')]],
    ['what a subagent says, as its', assistantLine('hi', { parent_tool_use_id: 't' }), [text('hi', true)]],
    ['what the CLI says of an error', syntheticLine('Request timed out', 'server_error'), [text('Request timed out')]],
    ['that there was a text of blanks', assistantLine(' \n'), [{ kind: 'unshown' }]],
    [
      'that there was a thought',
      assistantLine('', { message: { content: [{ type: 'thinking', thinking: 'hm' }] } }),
      [{ kind: 'unshown' }],
    ],
    [
      'a text before the tools of its message',
      assistantLine('hi', {
        message: {
          content: [
            { type: 'tool_use', name: 'Bash', input: { command: 'ls' } },
            { type: 'text', text: 'hi' },
          ],
        },
      }),
      [text('hi'), tool('Bash', 'ls')],
    ],
    [
      'a tool with its command before all else',
      toolUseLine('t', 'Bash', { description: 'list', command: 'ls' }),
      [tool('Bash', 'ls')],
    ],
    ['a tool with its file', toolUseLine('t', 'Write', { content: 'x', file_path: 'a.ts' }), [tool('Write', 'a.ts')]],
    [
      'a tool with its notebook',
      toolUseLine('t', 'NotebookEdit', { notebook_path: 'a.ipynb' }),
      [tool('NotebookEdit', 'a.ipynb')],
    ],
    [
      'a tool with its pattern, rather than its path',
      toolUseLine('t', 'Grep', { path: 'src', pattern: 'TODO' }),
      [tool('Grep', 'TODO')],
    ],
    ['a tool with its path', toolUseLine('t', 'LS', { path: 'src' }), [tool('LS', 'src')]],
    [
      'a tool with its address, rather than its prompt',
      toolUseLine('t', 'WebFetch', { prompt: 'read', url: 'https://a.example' }),
      [tool('WebFetch', 'https://a.example')],
    ],
    ['a tool with its query', toolUseLine('t', 'WebSearch', { query: 'ralph' }), [tool('WebSearch', 'ralph')]],
    ['a tool with its prompt', toolUseLine('t', 'Task', { prompt: 'look' }), [tool('Task', 'look')]],
    [
      'a tool without anything telling',
      toolUseLine('t', 'TodoWrite', { todos: ['x'], command: 7 }),
      [tool('TodoWrite', '')],
    ],
    ['that a tool’s result is good', toolResultLine('ok'), [{ kind: 'tool-result', failed: false }]],
    [
      'which tool was denied',
      JSON.stringify({ type: 'system', subtype: 'permission_denied', tool_name: 'Bash' }),
      [{ kind: 'denied', tool: 'Bash' }],
    ],
    [
      'a retry',
      JSON.stringify({
        ...{ type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 10 },
        ...{ retry_delay_ms: 549, error_status: 529, error: 'overloaded' },
      }),
      [{ kind: 'retry', attempt: 1, maxRetries: 10, delayMs: 549, status: 529, error: 'overloaded' }],
    ],
    ['a good result', resultLine('done'), [{ kind: 'result', failed: false, text: 'done', turns: 3 }]],
    [
      'a failed result with its error',
      failedLine('', { errors: ['no'] }),
      [{ kind: 'result', failed: true, text: 'no', turns: 3 }],
    ],
    [
      'a result without text',
      JSON.stringify({ type: 'result', is_error: false }),
      [{ kind: 'result', failed: false, text: '', turns: null }],
    ],
    ['nothing of other events', jsonLines(INIT, rateLimitLine({ status: 'allowed' })), []],
    ['a line that is not an event, without its line feed', 'Warning: x\n\n  \ny', [text('Warning: x'), text('y')]],
    ['nothing of an object that is not an event', '{"a":1}\n', []],
  ])('%s', (_what, output, events) => {
    expect(shown(output)).toEqual(events);
  });
});

test.each<[string, string, StreamEvent]>([
  ['2,000 characters of a text', assistantLine('x'.repeat(2_001)), text(`${'x'.repeat(1_999)}…`)],
  ['2,000 characters of a line', 'x'.repeat(2_001), text(`${'x'.repeat(1_999)}…`)],
  [
    '2,000 characters of a result',
    resultLine('x'.repeat(2_001)),
    { kind: 'result', failed: false, text: `${'x'.repeat(1_999)}…`, turns: 3 },
  ],
  [
    '300 characters of a tool’s input',
    toolUseLine('t', 'Bash', { command: 'x'.repeat(301) }),
    tool('Bash', `${'x'.repeat(299)}…`),
  ],
  ['100 characters of a tool’s name', toolUseLine('t', 'x'.repeat(101), {}), tool(`${'x'.repeat(99)}…`, '')],
  [
    '100 characters of a denied tool’s name',
    JSON.stringify({ type: 'system', subtype: 'permission_denied', tool_name: 'x'.repeat(101) }),
    { kind: 'denied', tool: `${'x'.repeat(99)}…` },
  ],
])('no more than %s are shown', (_what, output, event) => {
  expect(shown(output)).toEqual([event]);
});

test.each<[string, number, readonly StreamEvent[]]>([
  ['up to 64 KiB is', 64 * 1024, [{ kind: 'tool-result', failed: false }]],
  ['longer than 64 KiB is not', 64 * 1024 + 1, [{ kind: 'unshown' }]],
])('a line of a tool result %s looked into for being shown', (_rule, bytes, events) => {
  const line = toolResultLine('');
  expect(shown(jsonLines(INIT, toolResultLine('x'.repeat(bytes - line.length - 1))))).toEqual(events);
});
