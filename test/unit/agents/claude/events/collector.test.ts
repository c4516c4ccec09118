import { describe, expect, test } from 'vitest';
import {
  analyzeAt,
  assistantLine,
  failedLine,
  INIT,
  jsonLines,
  rateLimitLine,
  resultLine,
  syntheticLine,
  toolUseLine,
} from '../fixtures.ts';

const rejected = rateLimitLine({ status: 'rejected', resetsAt: 1795304042, rateLimitType: 'five_hour' });
const bare = (fields: object): string => JSON.stringify({ type: 'result', is_error: false, ...fields });
const deniedLine = (toolUseId: string | null, tool = 'Bash'): string =>
  JSON.stringify({
    type: 'system',
    subtype: 'permission_denied',
    tool_name: tool,
    tool_use_id: toolUseId,
    session_id: 's',
  });

/** The question at the end of the message, by which the tests recognize it. */
const SAID = 'Should I go on?';

describe('the final message is', () => {
  test.each<[string, string, boolean]>([
    ['the result’s', jsonLines(INIT, assistantLine('x'), resultLine(SAID)), true],
    ['the last text if the result has none', jsonLines(INIT, assistantLine(SAID), bare({})), true],
    ['the last text if no result follows', jsonLines(INIT, assistantLine(SAID)), true],
    [
      'the last text though tools were called behind it',
      jsonLines(INIT, assistantLine(SAID), toolUseLine('t', 'Bash', { command: 'ls' })),
      true,
    ],
    ['not the text of an earlier turn', jsonLines(INIT, assistantLine(SAID), resultLine('x'), bare({})), false],
    [
      'not an earlier result once the agent works again',
      jsonLines(INIT, resultLine(SAID), toolUseLine('t', 'Bash', { command: 'ls' })),
      false,
    ],
    ['not an earlier text once the agent said more', jsonLines(INIT, assistantLine(SAID), assistantLine('x')), false],
    [
      'not what a subagent said',
      jsonLines(INIT, assistantLine('x'), assistantLine(SAID, { parent_tool_use_id: 't' })),
      false,
    ],
  ])('%s', (_rule, output, expected) => {
    expect(analyzeAt(output).question).toBe(expected);
  });
});

describe('the call failed', () => {
  test.each<[string, string, string | null]>([
    ['as its result says', jsonLines(INIT, assistantLine('x'), failedLine('Credit balance is too low')), 'billing'],
    [
      'as the synthetic message says',
      jsonLines(INIT, syntheticLine('Hm.', 'billing_error'), failedLine('Hm.')),
      'billing',
    ],
    [
      'as the result itself says first',
      jsonLines(INIT, syntheticLine('Hm.', 'billing_error'), failedLine('Hm.', { error: 'server_error' })),
      'server',
    ],
    [
      'not if the agent continued and the output was cut off',
      jsonLines(INIT, syntheticLine('Hm.', 'billing_error'), assistantLine('x')),
      null,
    ],
    [
      'for another reason if the agent continued',
      jsonLines(INIT, syntheticLine('Hm.', 'billing_error'), assistantLine('x'), failedLine('Hm.')),
      'other',
    ],
    ['not if its result is good', jsonLines(INIT, syntheticLine('Hm.', 'billing_error'), resultLine('x')), null],
    [
      'not if only a subagent’s call failed',
      jsonLines(
        INIT,
        JSON.stringify({ ...(JSON.parse(syntheticLine('Hm.', 'billing_error')) as object), parent_tool_use_id: 't' }),
      ),
      null,
    ],
    [
      'still, if a subagent continues',
      jsonLines(INIT, syntheticLine('Hm.', 'billing_error'), assistantLine('x', { parent_tool_use_id: 't' })),
      'billing',
    ],
  ])('%s', (_rule, output, kind) => {
    expect(analyzeAt(output).agentError?.kind ?? null).toBe(kind);
  });
});

describe('a rejection', () => {
  test.each<[string, string, boolean]>([
    ['holds in a cut-off stream', jsonLines(INIT, rejected), true],
    ['holds for a failed result', jsonLines(INIT, rejected, failedLine('x')), true],
    ['is over with a good result', jsonLines(INIT, rejected, bare({ result: 'x' })), false],
    ['is over once the agent spoke', jsonLines(INIT, rejected, assistantLine('x'), failedLine('y')), false],
    [
      'is not over when a subagent spoke',
      jsonLines(INIT, rejected, assistantLine('x', { parent_tool_use_id: 't' })),
      true,
    ],
    ['is not over with the CLI’s own message', jsonLines(INIT, rejected, syntheticLine('x', 'rate_limit')), true],
  ])('%s', (_rule, output, expected) => {
    expect(analyzeAt(output).usageLimit?.window === 'five-hour').toBe(expected);
  });
});

describe('a denial in a stream without a result line', () => {
  const ls = { tool: 'Bash', command: 'ls' };
  test.each<[string, string, object[]]>([
    ['has the command of its call', jsonLines(toolUseLine('t', 'Bash', { command: 'ls' }), deniedLine('t')), [ls]],
    [
      'has the command of a subagent’s call',
      jsonLines(
        toolUseLine('t', 'Bash', { command: 'ls' }).replace('"parent_tool_use_id":null', '"parent_tool_use_id":"a"'),
        deniedLine('t'),
      ),
      [ls],
    ],
    [
      'has no command of another call',
      jsonLines(toolUseLine('t', 'Bash', { command: 'ls' }), deniedLine('u')),
      [{ tool: 'Bash', command: null }],
    ],
    [
      'has no command if it names no call',
      jsonLines(toolUseLine('', 'Bash', { command: 'ls' }).replace('"id":"",', ''), deniedLine(null)),
      [{ tool: 'Bash', command: null }],
    ],
    [
      'has no command for a tool without one',
      jsonLines(toolUseLine('t', 'Write', { file_path: 'x' }), deniedLine('t', 'Write')),
      [{ tool: 'Write', command: null }],
    ],
    [
      'comes behind those of earlier results',
      jsonLines(resultLine('', { permission_denials: [{ tool_name: 'Edit' }] }), deniedLine('t')),
      [
        { tool: 'Edit', command: null },
        { tool: 'Bash', command: null },
      ],
    ],
    [
      'is known by the result that follows',
      jsonLines(deniedLine('t'), resultLine('', { permission_denials: [{ tool_name: 'Edit' }] })),
      [{ tool: 'Edit', command: null }],
    ],
  ])('%s', (_rule, output, denials) => {
    expect(analyzeAt(output).denials).toEqual(denials);
  });

  test.each<[string, number, string | null]>([
    ['within the last 256 calls', 255, 'first'],
    ['not before them', 256, null],
  ])('has its command remembered %s', (_rule, callsBehind, command) => {
    const calls = Array.from({ length: callsBehind }, (_, index) =>
      toolUseLine(`t${String(index)}`, 'Bash', { command: 'ls' }),
    );
    expect(
      analyzeAt(jsonLines(toolUseLine('t', 'Bash', { command: 'first' }), ...calls, deniedLine('t'))).denials,
    ).toEqual([{ tool: 'Bash', command }]);
  });
});

describe('denials are kept', () => {
  const many = (count: number): Record<string, unknown> => ({
    permission_denials: Array.from({ length: count }, () => ({ tool_name: 'Bash' })),
  });
  test.each<[string, string, number]>([
    ['200 of a result', resultLine('', many(201)), 200],
    ['500 of all results', jsonLines(...[1, 2, 3, 4].map(() => resultLine('', many(180)))), 500],
    ['500 of a turn without result', jsonLines(...Array.from({ length: 501 }, () => deniedLine('t'))), 500],
  ])('up to %s', (_rule, output, count) => {
    expect(analyzeAt(output).denials).toHaveLength(count);
  });

  test('with 200 characters of the tool’s name and 2,000 of its command', () => {
    const denial = { tool_name: 'n'.repeat(201), tool_input: { command: 'c'.repeat(2_001) } };
    expect(analyzeAt(resultLine('', { permission_denials: [denial] })).denials).toEqual([
      { tool: `${'n'.repeat(199)}…`, command: `${'c'.repeat(1_999)}…` },
    ]);
    expect(
      analyzeAt(jsonLines(toolUseLine('t', 'Bash', { command: 'c'.repeat(2_001) }), deniedLine('t'))).denials,
    ).toEqual([{ tool: 'Bash', command: `${'c'.repeat(1_999)}…` }]);
  });
});

test.each<[string, string, object]>([
  [
    'the session is the last one named',
    jsonLines(INIT, resultLine('', { session_id: 's-2' }), bare({ result: '' })),
    { sessionId: 's-2' },
  ],
  [
    'turns of a result without them do not matter',
    jsonLines(resultLine('', { num_turns: 2 }), bare({ result: '' })),
    { turns: 2 },
  ],
  ['without any turns, usage is unknown', bare({ result: '' }), { turns: null, tokens: null, costUsd: null }],
  [
    'what was spent since the last result comes before a total, even if nothing',
    resultLine('', { total_cost_usd: 9, model_usage_since_last_result: {} }),
    { costUsd: 0 },
  ],
])('%s', (_rule, output, expected) => {
  expect(analyzeAt(output)).toMatchObject(expected);
});
