import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tryJson } from '../../../src/core/text/try-json.ts';
import { listArrayItems, findMember, parseJson, indexLines, convertNode } from '../../../src/json/parse.ts';
import { runs } from '../../runs.ts';

const problemsOf = (text: string): readonly string[] => {
  const parsed = parseJson(text);
  return parsed.kind === 'json'
    ? []
    : parsed.problems.map(({ line, column, message }) => `${String(line)}:${String(column)} ${message}`);
};

describe('plain JSON is read', () => {
  test.each([
    ['with LF', '{\n "a": [1]\n}\n'],
    ['with CR LF', '{\r\n "a": [1]\r\n}\r\n'],
    ['with a byte order mark', '\uFEFF{"a":[1]}'],
    ['without any blank', '{"a":[1]}'],
  ])('%s', (_, text) => {
    const parsed = parseJson(text);
    expect(parsed.kind === 'json' ? convertNode(parsed.root) : parsed).toEqual({ a: [1] });
  });

  test('of two members of a name the last counts', () => {
    const parsed = parseJson('{"a":1,"a":2}');
    expect(parsed.kind === 'json' && findMember(parsed.root, 'a')?.value).toBe(2);
  });

  test('an inherited member does not count', () => {
    const parsed = parseJson('{}');
    expect(parsed.kind === 'json' && findMember(parsed.root, 'constructor')).toBeNull();
  });
});

describe('everything else is a problem with line and column', () => {
  test.each([
    [
      'a file cut off inside an entry',
      '{\n  "tasks": [\n    {"id": "T1", ',
      ['3:17 the file ends in the middle of a value'],
    ],
    ['a file cut off inside a text', '{\n  "tasks": [\n    {"id": "T', ['3:12 the file ends in the middle of a value']],
    ['a text without its end', '["a,\n1]', ['1:2 a string without its closing quote', '2:1 expected a comma']],
    ['a trailing comma', '{\r\n  "a": [1,\r\n  2,\r\n  ]\r\n}', ['4:3 expected a value (and no comma before `]`)']],
    ['a trailing comma in an object', '{"a": 1,}', ['1:9 expected a name in double quotes (and no comma before `}`)']],
    ['a comment', '{\n  // why\n  "a": 1\n}', ['2:3 a comment, which JSON does not allow']],
    ['a missing comma, on each line', '[\n1 2,\n3 4\n]', ['2:3 expected a comma', '3:3 expected a comma']],
    ['a name without quotes', '{a: 1}', ['1:2 something that is not a JSON value']],
    ['a tab inside a text', '["a\tb"]', ['1:2 a control character inside a string']],
    ['more behind the value', '{} {}', ['1:4 expected the end of the file']],
    ['nothing', '', ['1:1 the file ends in the middle of a value']],
    ['blanks', ' \n ', ['1:1 the file ends in the middle of a value']],
    ['a mark does not move the columns', '\uFEFF[1,]', ['1:4 expected a value (and no comma before `]`)']],
    ['nesting without end', '['.repeat(100_000), ['1:501 nested more than 500 deep']],
  ])('%s', (_, text, expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });

  test('at most ten are reported', () => {
    expect(problemsOf(`[\n${'1 2,\n'.repeat(50)}3]`)).toHaveLength(10);
  });

  test('brackets inside texts do not count as nesting', () => {
    expect(problemsOf(JSON.stringify(['['.repeat(1_000), '\\"[['.repeat(300)]))).toEqual([]);
  });
});

const jsonLike = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc
    .array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        '"',
        ':',
        ',',
        '1',
        '-',
        '.',
        'e',
        'true',
        'null',
        '\\',
        '\n',
        '\r',
        ' ',
        '\t',
        'a',
        '/*',
        '//',
        '\uFEFF',
        '\u2028',
        '\u0000',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
);

test('exactly what JSON.parse reads is read, to the same value', () => {
  fc.assert(
    fc.property(jsonLike, (text) => {
      const parsed = parseJson(text);
      const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
      // JSON.parse handles a second byte order mark and text that is not JSON.
      if (parsed.kind === 'json') expect(JSON.stringify(convertNode(parsed.root))).toBe(JSON.stringify(tryJson(plain)));
      else expect(tryJson(plain)).toBeUndefined();
    }),
    { numRuns: runs(500) },
  );
});

test.each([['\n'], ['\r\n'], ['\r']])('positions count lines that end in %j', (end) => {
  const text = ['{', ' "a": [', '  1]', '}'].join(end);
  const parsed = parseJson(text);
  const list = parsed.kind === 'json' ? findMember(parsed.root, 'a') : null;
  const [item] = list === null ? [] : listArrayItems(list);
  expect(indexLines(text)(item?.offset ?? -1)).toEqual({ line: 3, column: 3 });
});
