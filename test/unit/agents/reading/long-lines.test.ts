import { expect, test } from 'vitest';
import { codexDialect } from '../../../../src/agents/codex/events/dialect.ts';
import { copilotDialect } from '../../../../src/agents/copilot/events/dialect.ts';
import { jsonLines, kindsOf, readIn } from './fixtures.ts';

const PADDING = '"success":true, {"success":true,"status":"completed"} '.repeat(100);
const refusal = { toolCallId: '1', success: false, error: { code: 'denied', message: PADDING } };

test.each([
  ['codex', codexDialect, { type: 'item.completed', item: { id: '1', type: 'agent_message', text: PADDING } }, 'text'],
  ['copilot', copilotDialect, { type: 'tool.execution_complete', data: refusal }, 'denied'],
])('a long line that says something is read: %s', (_, dialect, line, kind) => {
  expect(kindsOf(readIn(dialect, jsonLines(line)).events)).toContain(kind);
});

test.each([
  [
    'codex',
    codexDialect,
    { type: 'item.completed', item: { id: '1', type: 'command_execution', aggregated_output: PADDING } },
  ],
  [
    'copilot',
    copilotDialect,
    { type: 'tool.execution_complete', data: { toolCallId: '1', success: true, result: { content: PADDING } } },
  ],
])('of a long line that a tool printed only is used that it came: %s', (_, dialect, line) => {
  expect(readIn(dialect, jsonLines(line)).events).toEqual([{ kind: 'activity' }]);
  // The truncated line is not even valid JSON.
  const output = jsonLines(line);
  expect(readIn(dialect, output.slice(0, output.lastIndexOf('completed'))).events).toEqual([]);
});
