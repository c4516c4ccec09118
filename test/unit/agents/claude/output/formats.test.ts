import { describe, expect, test } from 'vitest';
import { createOutputReader } from '../../../../../src/agents/claude/output/reader.ts';
import type { StreamEvent } from '../../../../../src/agents/claude/events/collector.ts';
import {
  analyzeAt,
  assistantLine,
  block,
  failedLine,
  INIT,
  jsonLines,
  NOW,
  resultLine,
  toolResultLine,
  toolUseLine,
} from '../fixtures.ts';

const yes = block('EXIT_SIGNAL: true');
const no = block('EXIT_SIGNAL: false');
const result = resultLine(yes);

describe('format', () => {
  test.each([
    ['warnings before the object', `Warning: no stdin data\nnpm warn deprecated x\n${result}\n`],
    ['notices behind the object', `${result}\nnpm notice\nnpm notice New version of npm available!\n`],
    ['notices on both sides', `npm warn x\n${result}\nnpm notice y\n`],
    ['a byte order mark', `\uFEFF${result}`],
    ['blanks and empty lines', `\n  \t\n  ${result}\r\n\n`],
    ['the object over several lines', JSON.stringify(JSON.parse(result), null, 2)],
    ['a first key beside the brace, the rest below', result.replaceAll(',"', ',\n "')],
    [
      'the type as the last key',
      JSON.stringify({ ...(JSON.parse(result) as object), type: undefined, z: 1 }).replace(/\}$/, ',"type":"result"}'),
    ],
  ])('json: %s', (_what, output) => {
    expect(analyzeAt(output)).toMatchObject({
      format: 'json',
      sessionId: 's-1',
      signal: { from: 'block', exitSignal: true },
    });
  });

  test.each([
    ['one line', `[${INIT},${assistantLine('hi')},${result}]`],
    ['an element a line', `[\n${INIT},\n${assistantLine('hi')},\n${result}\n]\n`],
    ['pretty-printed', JSON.stringify([JSON.parse(INIT), JSON.parse(result)], null, 2)],
    ['behind a warning', `npm warn x\n[${INIT},${result}]\nnpm notice y`],
    ['cut off behind its result', `[${INIT},${result},{"type":"sys`],
  ])('json-array: %s', (_what, output) => {
    expect(analyzeAt(output)).toMatchObject({
      format: 'json-array',
      sessionId: 's-1',
      signal: { from: 'block', exitSignal: true },
    });
  });

  test.each([
    ['a run', jsonLines(INIT, assistantLine('hi'), result)],
    ['with CR LF', jsonLines(INIT, assistantLine('hi'), result).replaceAll('\n', '\r\n')],
    [
      'with noise between',
      jsonLines('Debugger attached.', INIT, '[mcp] {ready}', '{ not JSON', '{"type":"assistant","mess', result, 'bye'),
    ],
    ['a last line without line feed', `${INIT}\n${result}`],
    ['pretty-printed', [INIT, result].map((line) => JSON.stringify(JSON.parse(line), null, 2)).join('\n')],
    [
      'result text inside a tool result',
      jsonLines(INIT, toolResultLine(resultLine(no)), result, toolResultLine(resultLine(no))),
    ],
  ])('jsonl: %s', (_what, output) => {
    expect(analyzeAt(output)).toMatchObject({
      format: 'jsonl',
      sessionId: 's-1',
      signal: { from: 'block', exitSignal: true },
    });
  });

  test.each([
    ['an object amid a line of prose', `The CLI printed ${failedLine('x')} and stopped.`],
    ['an object amid lines of prose', `This is what it printed:\n\n${failedLine('x')}\n\nI mended that.`],
    ['an object in a fence', `\`\`\`json\n${failedLine('x')}\n\`\`\``],
    [
      'a pretty-printed object in a fence',
      `\`\`\`\n${JSON.stringify(JSON.parse(failedLine('x')), null, 2)}\n\`\`\`\nSo I see.`,
    ],
    [
      'an object in a fence behind an open brace',
      `It starts with\n{ and goes on.\n\`\`\`json\n${failedLine('x')}\n\`\`\``,
    ],
    ['an array in a fence', `~~~\n[${failedLine('x')}]\n~~~`],
  ])('text: %s is not the CLI’s', (_what, output) => {
    expect(analyzeAt(output)).toMatchObject({ format: 'text', agentError: null, sessionId: null, turns: null });
  });

  test.each([
    ['', 'text'],
    ['42', 'text'],
    ['[]', 'text'],
    ['null', 'text'],
    ['[1, 2]', 'text'],
    ['{ braces } in prose', 'text'],
    ['[link](x) in prose', 'text'],
    ['{"status":"COMPLETE","exit_signal":true}', 'json'],
    ['{"result":"no type","metadata":{"exit_signal":true}}', 'json'],
    ['[{"status":"COMPLETE"}]', 'json-array'],
    ['{"a":1}\n{"b":2}\n', 'jsonl'],
    [result.slice(0, -20), 'json'],
    [`[${result.slice(0, -20)}`, 'json-array'],
    [`npm warn x\n${result.slice(0, -20)}`, 'json'],
    ['\u0000\u0001{"[', 'text'],
  ])('%j is %s and says nothing', (output, format) => {
    expect(analyzeAt(output)).toMatchObject({
      format,
      signal: { from: 'none', exitSignal: null },
      completionIndicator: false,
      agentError: null,
      usageLimit: null,
    });
  });
});

test('the observer sees the stream as it comes, each part capped', () => {
  const seen: StreamEvent[] = [];
  const reader = createOutputReader({ now: NOW, onEvent: (event) => seen.push(event) });
  const retry = JSON.stringify({
    type: 'system',
    subtype: 'api_retry',
    attempt: 1,
    max_retries: 10,
    error_status: 429,
    session_id: 's',
  });
  const failure = JSON.stringify({
    type: 'user',
    message: { content: [{ type: 'tool_result', is_error: true, content: 'no' }] },
    session_id: 's',
  });
  reader.push(
    new TextEncoder().encode(
      jsonLines(
        'Warning: x',
        INIT,
        assistantLine('a'.repeat(9_000)),
        toolUseLine('t', 'Bash', { command: 'ls '.repeat(900) }),
        failure,
        retry,
        resultLine('done'),
      ),
    ),
  );
  expect(seen.map((event) => event.kind)).toEqual(['text', 'text', 'tool-use', 'tool-result', 'retry', 'result']);
  expect(JSON.stringify(seen).length).toBeLessThan(3_500);
  expect(seen.at(3)).toEqual({ kind: 'tool-result', failed: true });
});
