import { describe, expect, test } from 'vitest';
import {
  analyzeAt,
  assistantLine,
  block,
  INIT,
  jsonLines,
  resultLine,
  syntheticLine,
  toolResultLine,
  toolUseLine,
} from '../fixtures.ts';

const yes = block('EXIT_SIGNAL: true');
const no = block('EXIT_SIGNAL: false');

describe('the final message', () => {
  test.each<[string, string, boolean | null]>([
    ['not a tool result', jsonLines(INIT, toolResultLine(yes), resultLine(no)), false],
    ['not an earlier message', jsonLines(INIT, assistantLine(yes), assistantLine(no), resultLine(no)), false],
    [
      'not an earlier message when the last has no block',
      jsonLines(INIT, assistantLine(yes), assistantLine('bye'), resultLine('bye')),
      null,
    ],
    [
      'not a subagent’s',
      jsonLines(INIT, assistantLine(no), assistantLine(yes, { parent_tool_use_id: 'toolu_1' })),
      false,
    ],
    [
      'not the echoed prompt',
      jsonLines(
        INIT,
        JSON.stringify({ type: 'user', message: { role: 'user', content: yes }, session_id: 's' }),
        resultLine(no),
      ),
      false,
    ],
    [
      'of a stream cut in its result line: the last whole text',
      jsonLines(INIT, assistantLine(no), toolUseLine('t', 'Bash', { command: 'ls' })) + resultLine(yes).slice(0, -5),
      false,
    ],
    [
      'of two results: the last',
      jsonLines(INIT, assistantLine(yes), resultLine(yes), INIT, assistantLine(no), resultLine(no)),
      false,
    ],
    ['of an empty result: empty', jsonLines(INIT, assistantLine(yes), resultLine('')), null],
    [
      'of a result without text: the last text',
      jsonLines(
        INIT,
        assistantLine(no),
        JSON.stringify({ type: 'result', subtype: 'error_max_turns', is_error: true, errors: ['x'], session_id: 's' }),
      ),
      false,
    ],
    [
      'not structured output',
      resultLine('', { structured_output: { EXIT_SIGNAL: true, text: yes }, metadata: yes }),
      null,
    ],
  ])('%s', (_rule, output, exitSignal) => {
    expect(analyzeAt(output).signal.exitSignal).toBe(exitSignal);
  });
});

describe('numbers', () => {
  const usage = {
    input_tokens: 10,
    output_tokens: 20,
    cache_creation_input_tokens: 300,
    cache_read_input_tokens: 4000,
  };
  test('cache tokens are counted', () => {
    expect(analyzeAt(resultLine('', { usage })).tokens).toBe(4330);
  });
  test('turns and tokens of several results are added up', () => {
    expect(
      analyzeAt(jsonLines(INIT, resultLine('', { usage, num_turns: 2 }), resultLine('', { usage, num_turns: 3 }))),
    ).toMatchObject({ tokens: 8660, turns: 5 });
  });
  test.each([
    ['the total', { total_cost_usd: 0.25 }, 0.25],
    [
      'what was spent since the last result, of all models',
      { total_cost_usd: 0.25, model_usage_since_last_result: { a: { costUSD: 0.5 }, b: { costUSD: 0.25 } } },
      0.75,
    ],
    ['only amounts', { total_cost_usd: '0.25' }, null],
  ])('cost is %s', (_rule, fields, costUsd) => {
    expect(analyzeAt(resultLine('', fields)).costUsd).toBe(costUsd);
  });
  test('what several results spent is added up, a total is not', () => {
    const spent = { total_cost_usd: 9, model_usage_since_last_result: { a: { costUSD: 0.5 } } };
    expect(analyzeAt(jsonLines(resultLine('', spent), resultLine('', spent))).costUsd).toBe(1);
    expect(
      analyzeAt(jsonLines(resultLine('', { total_cost_usd: 1 }), resultLine('', { total_cost_usd: 2 }))).costUsd,
    ).toBe(2);
  });
  test('a session id that could be read as an option is dropped', () => {
    expect(analyzeAt(resultLine('', { session_id: '--dangerously' })).sessionId).toBeNull();
  });
});

describe('denials', () => {
  const docker = { tool_name: 'Bash', tool_use_id: 't1', tool_input: { command: 'docker ps' } };
  const write = { tool_name: 'Write', tool_use_id: 't2', tool_input: { file_path: '/x' } };
  const question = { tool_name: 'AskUserQuestion', tool_use_id: 't3', tool_input: { questions: [] } };

  test('come from the CLI’s field, in order', () => {
    expect(analyzeAt(resultLine('fine', { permission_denials: [docker, write, 7, {}] }))).toMatchObject({
      denials: [
        { tool: 'Bash', command: 'docker ps' },
        { tool: 'Write', command: null },
      ],
      question: false,
    });
  });
  test('of all results are listed', () => {
    expect(
      analyzeAt(
        jsonLines(resultLine('', { permission_denials: [docker] }), resultLine('', { permission_denials: [write] })),
      ).denials,
    ).toHaveLength(2);
  });
  test('of a stream without a result line come from its events', () => {
    const denied = JSON.stringify({
      type: 'system',
      subtype: 'permission_denied',
      tool_name: 'Bash',
      tool_use_id: 't1',
      session_id: 's',
    });
    const cut = jsonLines(INIT, toolUseLine('t1', 'Bash', { command: 'docker ps' }), denied);
    expect(analyzeAt(cut).denials).toEqual([{ tool: 'Bash', command: 'docker ps' }]);
    expect(analyzeAt(cut + jsonLines(resultLine('', { permission_denials: [docker] }))).denials).toHaveLength(1);
  });
  test('of the question tool is a question', () => {
    expect(analyzeAt(resultLine('fine', { permission_denials: [question] }))).toMatchObject({
      denials: [{ tool: 'AskUserQuestion', command: null }],
      question: true,
    });
  });
  test('are not read from prose', () => {
    expect(analyzeAt('permission denied (publickey)').denials).toEqual([]);
  });
});

describe('after a good first result, the final message', () => {
  const first = jsonLines(INIT, assistantLine(yes), resultLine(yes), INIT);
  test.each<[string, string, boolean | null]>([
    [
      'is the next text when the second result line is cut off',
      jsonLines(assistantLine(no)) + resultLine(no).slice(0, -9),
      false,
    ],
    ['is empty when the CLI failed', jsonLines(syntheticLine('Credit balance is too low', 'billing_error')), null],
    [
      'is the next text when the CLI failed behind it',
      jsonLines(assistantLine(no), syntheticLine('Request timed out', 'server_error')),
      false,
    ],
    ['is still that of the first when nothing follows', '', true],
  ])('%s', (_rule, rest, exitSignal) => {
    expect(analyzeAt(first + rest).signal.exitSignal).toBe(exitSignal);
  });
});
