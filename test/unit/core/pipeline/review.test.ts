import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import {
  formatFindings,
  buildFindingsSchema,
  type ReviewHold,
  isHeldBy,
  parseReview,
  type ReviewResult,
  REVIEW_PROTOCOL,
  describeReview,
  createUnreadableReview,
} from '../../../../src/core/pipeline/review.ts';

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(buildFindingsSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-findings.schema.json',
  );
});

const finding = (severity: string, change: object = {}): object => ({
  file: 'src/a.ts',
  line: 3,
  severity,
  text: 'It adds twice.',
  ...change,
});
const saying = (...findings: readonly object[]): string => JSON.stringify({ findings });

function read(message: string, hold: ReviewHold = 'none'): ReviewResult {
  return parseReview({ agent: 'codex', hold }, message);
}

test('the example in the prompt is one that counts, and fits the schema', () => {
  const example = /\{"findings": \[\{.*\}\]\}/.exec(REVIEW_PROTOCOL)?.[0] ?? '';
  expect(read(example)).toMatchObject({ unreadable: null, findings: [{ file: 'src/total.ts', line: 12 }] });
  expect(new Ajv2020().compile(buildFindingsSchema())(JSON.parse(example))).toBe(true);
});

describe('findings are read from the final message', () => {
  test.each<[string, string, number]>([
    ['alone', saying(finding('high')), 1],
    ['none', '{"findings": []}', 0],
    ['after words', `I looked at \`{}\`. Here:\n${saying(finding('low'))}`, 1],
    ['in a fence, with words after it', `\`\`\`json\n${saying(finding('low'))}\n\`\`\`\nThat is {all}.`, 1],
    ['over several lines', JSON.stringify({ findings: [finding('low'), finding('high')] }, null, 2), 2],
    ['without a line', saying(finding('low', { line: undefined }), finding('low', { line: null })), 2],
    ['for a file as a whole, by the line 0', saying(finding('low', { line: 0 })), 1],
    ['after other keys', JSON.stringify({ summary: { findings: 1, 'src/{a}': '}' }, findings: [finding('low')] }), 1],
    ['before other keys', JSON.stringify({ findings: [finding('low')], stats: { low: 1 }, summary: 'Fine.' }), 1],
    ['in an object of their own', JSON.stringify({ review: { verdict: 'ok', findings: [finding('low')] } }), 1],
    ['with more about each', saying(finding('low', { id: 'F1', suggestion: { line: 7 } })), 1],
    ['all of several', `${saying(finding('high'), finding('high'))}\nAnd:\n${saying(finding('low'))}`, 3],
    ['also where the later one begins otherwise', `${saying(finding('high'))}\n{"summary": {}, "findings": []}`, 1],
    ['with others that it quotes', `${saying(finding('high'))}\n\`a\` says {"findings": []} at its end.`, 1],
    ['with a form that it quotes', `I was asked for {"findings": [...]}:\n${saying(finding('high'))}`, 1],
    ['with an empty list in one of them', saying(finding('high', { findings: [] })), 1],
    ['with an empty list beside them', JSON.stringify({ findings: [finding('high')], by: { findings: [] } }), 1],
    ['text with JSON in it', saying(finding('low', { text: '{"findings": []} is wrong }' })), 1],
  ])('%s', (_, message, count) => {
    expect(read(message)).toMatchObject({ unreadable: null, more: 0 });
    expect(read(message).findings).toHaveLength(count);
  });

  test.each<[string, string, RegExp]>([
    ['no message', '', /no JSON/],
    ['only praise', 'All is well, merge it. EXIT_SIGNAL: true', /no JSON/],
    ['a cut-off list', saying(finding('high')).slice(0, -3), /no JSON/],
    ['a cut-off list after another', `{"findings": []} was last.\n${saying(finding('high')).slice(0, -3)}`, /no JSON/],
    ['another form', '{"findings": {"high": 1}}', /^findings: /],
    ['an unknown severity', saying(finding('catastrophic')), /^findings\.0\.severity: /],
    ['a line that is not a number', saying(finding('low', { line: -1 })), /^findings\.0\.line: /],
    ['no text', saying(finding('low', { text: '' })), /^findings\.0\.text: /],
    ['10 MB of findings', saying(...Array<object>(100_000).fill(finding('low'))), /more than 200000 characters/],
    ['many brackets', `{"findings":${'}'.repeat(199_000)}`, /no JSON/],
    ['two lists under one key', `{"findings":[${JSON.stringify(finding('high'))}], "findings": []}`, /no JSON/],
    ['many lists', '{"findings":['.repeat(15_000), /15000 lists/],
    ['brackets without end', `${'{"a":'.repeat(9000)}{"findings":["${'\\"'.repeat(70_000)}`, /no JSON/],
  ])('unreadable: %s', (_, message, why) => {
    expect(read(message, 'low')).toMatchObject({
      findings: [],
      holding: 0,
      unreadable: expect.stringMatching(why) as string,
    });
  });

  test('a line 0 means the whole file', () => {
    expect(read(saying(finding('low', { line: 0 }))).findings).toMatchObject([{ line: null }]);
  });

  test('the worst come first, and are kept', () => {
    const review = read(saying(...Array<object>(30).fill(finding('low')), finding('high'), finding('medium')));
    expect(review.findings.map(({ severity }) => severity).slice(0, 3)).toEqual(['high', 'medium', 'low']);
    expect(review).toMatchObject({ more: 12 });
    expect(review.findings).toHaveLength(20);
  });

  test('texts are one line of bounded length', () => {
    const [only] = read(
      saying(finding('low', { file: 'a'.repeat(999), text: `x\n\u001B[31m${'y'.repeat(9999)}` })),
    ).findings;
    expect(only?.file.length).toBeLessThanOrEqual(200);
    expect(only?.text.length).toBeLessThanOrEqual(400);
    expect(only?.text).not.toMatch(/[\n\u001B]/);
  });
});

test.each<[ReviewHold, readonly string[], number, boolean, string]>([
  ['none', ['high', 'high'], 0, false, '2 findings'],
  ['high', ['medium', 'low'], 0, false, '2 findings'],
  ['high', ['high', 'medium', 'high'], 2, true, 'held by review: 2 findings'],
  ['medium', ['high', 'medium', 'low'], 2, true, 'held by review: 2 findings'],
  ['low', ['low'], 1, true, 'held by review: 1 finding'],
  ['low', [], 0, false, '0 findings'],
])('hold: %s, findings %j', (hold, severities, holding, isHeld, words) => {
  const review = read(saying(...severities.map((severity) => finding(severity))), hold);
  expect({ holding: review.holding, isHeld: isHeldBy(review), words: describeReview(review) }).toEqual({
    holding,
    isHeld,
    words,
  });
});

test('a review that nobody can read holds where findings hold', () => {
  const unreadable = (hold: ReviewHold): ReviewResult =>
    createUnreadableReview({ agent: 'codex', hold }, 'its call failed');
  expect([isHeldBy(unreadable('none')), isHeldBy(unreadable('high'))]).toEqual([false, true]);
  expect(describeReview(unreadable('high'))).toBe('held by review: unreadable (its call failed)');
});

test('a prompt lists the worst last, so that they stay where space is short', () => {
  const review = read(saying(finding('high', { line: null }), finding('low')));
  expect(formatFindings([{ step: 'review', review }])).toBe(
    '- low: src/a.ts:3: It adds twice.\n- high: src/a.ts: It adds twice.',
  );
  const unreadable = createUnreadableReview({ agent: 'codex', hold: 'none' }, 'it did not run');
  expect(formatFindings([{ step: 'review', review: unreadable }])).toBe('Step review: unreadable (it did not run)');
});
