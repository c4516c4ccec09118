import { describe, expect, test } from 'vitest';
import {
  analyzeAt,
  assistantLine,
  block,
  failedLine,
  INIT,
  inEveryFormat,
  jsonLines,
  rateLimitLine,
  resultLine,
  syntheticLine,
} from '../../agents/claude/fixtures.ts';

const yes = block('EXIT_SIGNAL: true');
const no = block('EXIT_SIGNAL: false');

describe('beside STATUS: COMPLETE, false is read from', () => {
  test.each([
    'EXIT\\_SIGNAL: false',
    '**EXIT\\_SIGNAL:** false',
    '`EXIT_SIGNAL`: false',
    '`EXIT_SIGNAL: false`',
    '*EXIT_SIGNAL*: false',
    '***EXIT_SIGNAL***: false',
    '***EXIT_SIGNAL:*** false',
    '__EXIT_SIGNAL__: false',
    '"EXIT_SIGNAL": false',
    '“EXIT_SIGNAL”: false',
    '• EXIT_SIGNAL: false',
    'EXIT_SIGNAL：false',
    'ＥＸＩＴ＿ＳＩＧＮＡＬ: false',
    '\u200BEXIT_SIGNAL: false',
    'EXIT_\u00ADSIGNAL: false',
  ])('%j', (line) => {
    for (const [, output] of inEveryFormat(block('STATUS: COMPLETE', line))) {
      expect(analyzeAt(output)).toMatchObject({
        signal: { from: 'block', status: 'COMPLETE', exitSignal: false, unreadable: [] },
        completionIndicator: false,
      });
    }
  });
});

describe('beside STATUS: COMPLETE, nothing is inferred where EXIT_SIGNAL is there but unreadable', () => {
  test.each([
    '- [ ] EXIT_SIGNAL: false',
    '### EXIT_SIGNAL: false',
    '> EXIT_SIGNAL: false',
    '```\nEXIT_SIGNAL: false\n```',
    '```\nEXIT_SIGNAL: false',
    'EXIT_SIGNAL = false',
    'EXIT_SIGNAL false',
    'EXIT SIGNAL: false',
    'exit-signal: false',
    'exitSignal: false',
    '| EXIT_SIGNAL | false |',
    '<b>EXIT&#95;SIGNAL</b>: false',
    '\u0415XIT_SIGNAL: false',
    'EXIT_S\u0406GN\u0391L: false',
    'My answer: EXIT_SIGNAL: false',
    'NOTE: one task is left, so EXIT_SIGNAL: false',
    'TESTS_STATUS: PASSING, EXIT_SIGNAL: false',
  ])('%j', (line) => {
    for (const [, output] of inEveryFormat(block('STATUS: COMPLETE', line))) {
      const { signal, completionIndicator } = analyzeAt(output);
      expect(signal).toMatchObject({ from: 'block', status: 'COMPLETE', exitSignal: null });
      expect(signal.unreadable).toContain('EXIT_SIGNAL');
      expect(completionIndicator).toBe(false);
    }
  });

  test.each([
    'RECOMMENDATION: handle the exit signal of the child',
    'RECOMMENDATION: next time EXIT_SIGNAL: true',
    'RECOMMENDATION: one task is left, so EXIT_SIGNAL: false',
    'EXIT_SIGNAL_REASON: all tasks are done',
    'NOTE: the exit signal is final',
    'NOTE: 没有剩余的任务了，全部完成',
    'EXISTING: signals',
  ])('an absent one is still inferred beside %j', (line) => {
    expect(analyzeAt(block('STATUS: COMPLETE', line)).signal).toMatchObject({ exitSignal: true, unreadable: [] });
  });
});

test.each<[string, string[], boolean | null]>([
  ['true beside an unread line that names it is unreadable', ['EXIT_SIGNAL: true', '> EXIT_SIGNAL: false'], null],
  [
    'true beside a recommendation that names it is true',
    ['EXIT_SIGNAL: true', 'RECOMMENDATION: EXIT_SIGNAL: true, for the plan is empty'],
    true,
  ],
  [
    'true beside an unknown field that assigns it is unreadable',
    ['EXIT_SIGNAL: true', 'NOTE: EXIT_SIGNAL: false'],
    null,
  ],
  ['true beside a disguised one is unreadable', ['EXIT_SIGNAL: true', 'exitSignal: false'], null],
  [
    'true beside its reason is true',
    ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'EXIT_SIGNAL_REASON: all tasks are done'],
    true,
  ],
  ['true beside a note on it is true', ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'NOTE: exit signal is final'], true],
  [
    'true beside a recommendation of two lines that speaks of it is true',
    ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'RECOMMENDATION: All done,', 'so the exit signal is true.'],
    true,
  ],
  ['an explicit false stays false', ['STATUS: COMPLETE', 'EXIT_SIGNAL: false', 'I keep the exit signal back.'], false],
  ['a bold line closes its marks', ['**RECOMMENDATION: ship it**', 'EXIT_SIGNAL: true'], true],
])('%s', (_rule, fields, exitSignal) => {
  expect(analyzeAt(block(...fields)).signal.exitSignal).toBe(exitSignal);
});

test.each([
  ['a value that is no choice', block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: false | one left'), ['EXIT_SIGNAL']],
  ['a value in angle brackets', block('EXIT_SIGNAL: <false>'), ['EXIT_SIGNAL']],
  ['an undecided status', block('STATUS: COMPLETE | BLOCKED'), ['STATUS']],
  ['both values, one of them filled in', block('EXIT_SIGNAL: true | false', 'EXIT_SIGNAL: false'), ['EXIT_SIGNAL']],
  ['both values beside a status', block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: true | false'), ['EXIT_SIGNAL']],
  [
    'both values beside a recommendation',
    block('EXIT_SIGNAL: true | false', 'RECOMMENDATION: one task is left'),
    ['EXIT_SIGNAL'],
  ],
  ['a confusable name alone', block('\u0415XIT_SIGNAL: false'), ['EXIT_SIGNAL']],
])('%s in a later block does not let an earlier true one win', (_rule, later, unreadable) => {
  expect(analyzeAt(`${yes}\n${later}`).signal).toMatchObject({ from: 'block', exitSignal: null, unreadable });
});

test.each([
  ['the alternatives of STATUS alone', block('STATUS: IN_PROGRESS | COMPLETE | BLOCKED')],
  ['EXIT_SIGNAL with both values in brackets', block('FILES_MODIFIED: <number>', 'EXIT_SIGNAL: <true|false>')],
  [
    'all fields with an explained recommendation',
    block(
      'STATUS: IN_PROGRESS | COMPLETE | BLOCKED',
      'EXIT_SIGNAL: false | true',
      'RECOMMENDATION: <one line: what to do next>',
    ),
  ],
])('%s are the template, hence no block', (_rule, template) => {
  expect(analyzeAt(`${yes}\n${template}`).signal.exitSignal).toBe(true);
  expect(analyzeAt(template).signal.from).not.toBe('block');
});

describe('without an end marker', () => {
  const open = '---RALPH_STATUS---\nSTATUS: COMPLETE\n';
  test.each<[string, string, boolean | null, string[]]>([
    ['prose and then a field is unreadable', `${open}\nOne more thing.\nEXIT_SIGNAL: false`, null, ['EXIT_SIGNAL']],
    ['a fence and then a field is unreadable', `${open}\`\`\`\nEXIT_SIGNAL: false`, null, ['EXIT_SIGNAL']],
    ['prose that does not name the signal is no matter', `${open}\nThat is all.`, true, []],
    [
      'true stays true before prose that speaks of signals',
      `${open}EXIT_SIGNAL: true\n\nHandled the exit signals SIGINT and SIGTERM.`,
      true,
      [],
    ],
    [
      'true before prose that assigns it is unreadable',
      `${open}EXIT_SIGNAL: true\n\nNo: EXIT_SIGNAL: false`,
      null,
      ['EXIT_SIGNAL'],
    ],
    ['a later block counts for itself', `${open}\nprose\n${no}`, false, []],
  ])('%s', (_rule, message, exitSignal, unreadable) => {
    expect(analyzeAt(message).signal).toMatchObject({ from: 'block', exitSignal, unreadable });
  });
});

describe('the YAML-like form', () => {
  test.each<[string, string, boolean | null, string | null]>([
    ['a nested key is no field', 'RALPH_STATUS:\n  note:\n    EXIT_SIGNAL: true\n  STATUS: BLOCKED', null, 'BLOCKED'],
    [
      'a nested key is not inferred over',
      'RALPH_STATUS:\n  note:\n    EXIT_SIGNAL: false\n  STATUS: COMPLETE',
      null,
      'COMPLETE',
    ],
    [
      'may have a comment behind its start',
      'RALPH_STATUS:  # final\n  STATUS: COMPLETE\n  EXIT_SIGNAL: true',
      true,
      'COMPLETE',
    ],
    ['is not inferred over a key outside', 'RALPH_STATUS:\n  STATUS: COMPLETE\nEXIT_SIGNAL: false', null, 'COMPLETE'],
    [
      'text behind it does not void what it says',
      'RALPH_STATUS:\n  EXIT_SIGNAL: true\n\nEXIT_SIGNAL is set because the plan is empty.',
      true,
      null,
    ],
    ['may be a list', 'RALPH_STATUS:\n  - STATUS: COMPLETE\n  - EXIT_SIGNAL: false', false, 'COMPLETE'],
  ])('%s', (_rule, message, exitSignal, status) => {
    expect(analyzeAt(message).signal).toMatchObject({ from: 'block', exitSignal, status });
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

describe('a line of prose that begins like an error of the CLI is none', () => {
  test.each([
    'API Error: 429 handled with retry in client.ts',
    'API Error: the new class is exported from src/errors.ts',
    '5-hour limit reached ∙ resets 5pm and 3 more strings translated',
    '5-hour limit reached, resets 5pm and 3 more strings translated',
    'Usage limit reached handling is implemented. All tasks complete.',
    'Weekly limit reached is now shown in the UI.',
    "You've hit your goal of covering the limit parser.",
    "You've hit your goal of 80 percent; the rate limit is next.",
    "You've hit your 5-hour limit is a message I now parse.",
    "You're out of extra usage is translated.",
    'Failed to authenticate users are now redirected.',
    'Invalid API key handling is done.',
    'Not logged in users see the start page.',
    'Please run /login tests; they pass.',
    'Credit balance is too low is now translated.',
    'Request timed out errors are retried now.',
    'Prompt is too long errors are handled now; done.',
    'No conversation found with session ID is handled.',
    'Reached max turns in the game; it ends now.',
    'Reached maximum budget in the form shows a hint.',
    "There's an issue with the selected model dropdown, I mended it.",
  ])('%j', (line) => {
    expect(analyzeAt(line)).toMatchObject({ format: 'text', agentError: null, usageLimit: null });
  });
});

test.each([
  ['Invalid API key · Fix external API key', 'auth'],
  ['Invalid API key · Please run /login', 'auth'],
  ['Not logged in · Please run /login', 'auth'],
  ['Please run /login · API Error: 401 expired', 'auth'],
  ['Failed to authenticate. API Error: 401 OAuth token has expired. Please renew it.', 'auth'],
  ['Credit balance is too low', 'billing'],
  [
    "There's an issue with the selected model (claude-nope-1). It may not exist or you may not have access to it.",
    'model',
  ],
  ['Prompt is too long', 'prompt-too-long'],
  ['Reached max turns (3)', 'max-turns'],
  ['Error: Reached max turns (3)', 'max-turns'],
  ['Reached maximum budget ($0.001)', 'budget'],
  ['Exceeded USD budget (0.5)', 'budget'],
  ['API Error: Connection dropped (ECONNRESET). Try again.', 'server'],
  ['Request timed out. Check your internet connection.', 'server'],
  ['API Error: 400 messages.0: bad thing', 'other'],
])('as the whole output, %j is the CLI’s own: %s', (text, kind) => {
  expect(analyzeAt(`${text}\n`).agentError).toEqual({ kind, text });
});

describe('kind and limit agree', () => {
  test.each([
    ["You've hit your limit · resets 5pm", 'unknown', '2026-11-21T17:00:00.000Z'],
    ['You’ve hit your weekly limit ∙ resets 5pm (UTC)', 'weekly', '2026-11-21T17:00:00.000Z'],
    ['You’re out of extra usage · resets 9pm', 'extra', '2026-11-21T21:00:00.000Z'],
    ['Opus weekly limit reached ∙ resets Dec 1, 5pm', 'weekly', '2026-12-01T17:00:00.000Z'],
    ['5-hour limit reached ∙ resets 5pm', 'five-hour', '2026-11-21T17:00:00.000Z'],
    ['Claude usage limit reached. Your limit will reset at 5pm', 'unknown', '2026-11-21T17:00:00.000Z'],
    [
      'Claude usage limit reached · resets 17:30 (UTC) · /upgrade to increase your usage limit',
      'unknown',
      '2026-11-21T17:30:00.000Z',
    ],
    ['Weekly limit reached ∙ resets Dec 1, 5pm (Europe/Berlin)', 'weekly', '2026-12-01T16:00:00.000Z'],
    ['API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}', 'unknown', null],
  ])('%j', (text, window, resumeAt) => {
    for (const output of [text, failedLine(text), JSON.stringify({ type: 'result', is_error: true, result: text })]) {
      expect(analyzeAt(output)).toMatchObject({
        agentError: { kind: 'rate-limit', text },
        usageLimit: { window, resumeAt },
      });
    }
  });

  test('a 529 in the older shape is the server’s, to be waited for', () => {
    const text = 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    for (const output of [text, JSON.stringify({ type: 'result', is_error: true, result: text })]) {
      expect(analyzeAt(output)).toMatchObject({
        agentError: { kind: 'server' },
        usageLimit: { window: 'unknown', resumeAt: null },
      });
    }
  });

  test.each([
    'I now show "You\'ve hit your 5-hour limit · resets 5pm" in the UI.',
    'The log has: Claude AI usage limit reached|1795303952',
    'Usage limit reached handling is half done.',
    "You've hit your 5-hour limit is a message I now parse.",
  ])('a failed result that only quotes one has none: %j', (text) => {
    expect(analyzeAt(failedLine(text, { subtype: 'error_during_execution' }))).toMatchObject({
      agentError: { kind: 'other' },
      usageLimit: null,
    });
  });
});

test.each([
  ['another type keeps', 'seven_day', 'five-hour'],
  ['the same type clears', 'five_hour', null],
])('an allowed event of %s the rejected one', (_rule, rateLimitType, window) => {
  const output = jsonLines(
    INIT,
    rateLimitLine({ status: 'rejected', resetsAt: 1795304042, rateLimitType: 'five_hour' }),
    rateLimitLine({ status: 'allowed', rateLimitType }),
    failedLine('x'),
  );
  expect(analyzeAt(output).usageLimit?.window ?? null).toBe(window);
});

test.each([
  ['first', [2_000_000_000, 1_900_000_000]],
  ['last', [1_900_000_000, 2_000_000_000]],
])('of two rejected events the later reset counts, be it the %s', (_rule, resets) => {
  const [first, last] = resets.map((resetsAt, index) =>
    rateLimitLine({ status: 'rejected', resetsAt, rateLimitType: index === 0 ? 'five_hour' : 'seven_day' }),
  );
  expect(analyzeAt(jsonLines(INIT, first ?? '', last ?? '', failedLine('x'))).usageLimit?.resumeAt).toBe(
    '2033-05-18T03:33:20.000Z',
  );
});
