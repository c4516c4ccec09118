import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePriceLines } from '../../../src/config/fields.ts';
import { runs } from '../../runs.ts';

const price = (input: number, cachedInput: number, output: number) => ({ input, cachedInput, output });

test.each<[string, string, ReturnType<typeof price>]>([
  ['gpt-5.5=1.25/0.125/10', 'gpt-5.5', price(1.25, 0.125, 10)],
  ['gpt-5.5=1.25/10', 'gpt-5.5', price(1.25, 1.25, 10)],
  [' GPT-5.5 = 1.25 / 0.125 / 10 ', 'gpt-5.5', price(1.25, 0.125, 10)],
  ['openai/gpt-5.5@eu:0=0/0', 'openai/gpt-5.5@eu:0', price(0, 0, 0)],
  ['qwen3_coder+=0.000000001/100000', 'qwen3_coder+', price(1e-9, 1e-9, 100_000)],
  ['4=1/0/2', '4', price(1, 0, 2)],
])('%j', (line, name, expected) => {
  expect(parsePriceLines([line])).toEqual({ prices: { [name]: expected }, problems: [] });
});

const FORM = /which is not a price: write NAME=INPUT\/OUTPUT or NAME=INPUT\/CACHED\/OUTPUT, .* for example gpt-5\.5=/;
const NAME = /which does not begin with a model's name: write the name, or a part of it/;
const usd = (text: string): string =>
  `in which ${JSON.stringify(text)} is not a number from 0 to 100000: write US dollars per million tokens, without a sign or a currency`;

test.each<[string, RegExp | string]>([
  ['gpt-5.5', FORM],
  ['gpt-5.5=', FORM],
  ['gpt-5.5=10', FORM],
  ['gpt-5.5=1/2/3/4', FORM],
  ['gpt-5.5=1=2', FORM],
  ['gpt-5.5: 1/2', FORM],
  ['=1/2', NAME],
  ['a b=1/2', NAME],
  ['__proto__=1/2', NAME],
  ['*=1/2', NAME],
  [`${'x'.repeat(101)}=1/2`, NAME],
  ['a=$1/2', usd('$1')],
  ['a=1/-2', usd('-2')],
  ['a=1//2', usd('')],
  ['a=1/', usd('')],
  ['a=1e3/2', usd('1e3')],
  ['a=1,5/2', usd('1,5')],
  ['a=1/0.5/100001', usd('100001')],
  ['a=1/2 # dear', usd('2 # dear')],
])('%j', (line, expected) => {
  const { prices, problems } = parsePriceLines([line, 'other=1/2']);
  expect(prices).toEqual({ other: price(1, 1, 2) });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^has the line "/);
  expect(problems[0]).toMatch(expected);
});

test('a name that comes twice is reported, and its first line is kept', () => {
  expect(parsePriceLines(['a=1/2', 'A=3/4', 'b=5/6'])).toEqual({
    prices: { a: price(1, 1, 2), b: price(5, 5, 6) },
    problems: ['names a twice: keep one of the lines'],
  });
});

test('a hundred lines are read, no more', () => {
  const lines = Array.from({ length: 101 }, (_, nth) => `m${String(nth)}=1/2`);
  expect(Object.keys(parsePriceLines(lines.slice(1)).prices)).toHaveLength(100);
  expect(parsePriceLines(lines)).toEqual({ prices: {}, problems: ['has more than 100 lines'] });
});

test('of many problems some are listed, with the number of the others', () => {
  const problemsOf = (count: number) => parsePriceLines(Array.from({ length: count }, () => 'x')).problems;
  expect(problemsOf(5)).toHaveLength(5);
  expect(problemsOf(6)[5]).toBe('has 1 more problem like these');
  expect(problemsOf(100)).toHaveLength(6);
  expect(problemsOf(100)[5]).toBe('has 95 more problems like these');
});

test('whatever the lines are: every one is a price or a problem, and the problems are short', () => {
  const part = fc.oneof(fc.constantFrom('a', 'B', '1', '1.5', '', ' ', '=', '/', '-1'), fc.string());
  const line = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
      const { prices, problems } = parsePriceLines(lines);
      expect(Object.keys(prices).length + problems.length).toBe(lines.length);
      expect(problems.every((problem) => problem.length < 700)).toBe(true);
      for (const amount of Object.values(prices).flatMap((one) => Object.values(one) as number[])) {
        expect(amount).toBeGreaterThanOrEqual(0);
        expect(amount).toBeLessThanOrEqual(100_000);
      }
    }),
    { numRuns: runs(400) },
  );
});
