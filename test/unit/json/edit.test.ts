import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  appendChildren,
  applyEdits,
  detectChildIndent,
  keepChildren,
  layoutOfJson,
  renderJsonValue,
  transplantText,
} from '../../../src/json/edit.ts';
import { listArrayItems, findMember, parseJson, convertNode, type JsonNode } from '../../../src/json/parse.ts';

function rootOf(text: string): JsonNode {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') throw new Error(parsed.problems[0]?.message);
  return parsed.root;
}

/** Keeps the items with these values. */
function keeping(text: string, values: readonly unknown[]): string {
  return applyEdits(text, [keepChildren(text, rootOf(text), (item) => values.includes(item.value))]);
}

/** Appends as the code that edits a list in a file does. */
function appending(text: string, list: JsonNode, value: unknown): string {
  const layout = layoutOfJson(text, listArrayItems(list).length > 0 ? list : rootOf(text));
  return applyEdits(text, [
    appendChildren(text, list, [renderJsonValue(value, layout, detectChildIndent(text, list, layout))], layout),
  ]);
}

describe('what stays, stays as it is written', () => {
  test.each([
    ['the first goes', '[1, 2, 3]', [2, 3], '[2, 3]'],
    ['the last goes', '[1, 2, 3]', [1, 2], '[1, 2]'],
    ['one in the middle goes', '[ 1 ,2,  3 ]', [1, 3], '[ 1,  3 ]'],
    ['commas with white space around them', '[\n 1 ,\n\n 2 ,\n\n 3 ,4\n]', [1, 2, 4], '[\n 1 ,\n\n 2 ,4\n]'],
    ['all go', '[\n  1,\n  2\n]', [], '[]'],
    ['none goes', '[ 1,\t2 ]', [1, 2], '[ 1,\t2 ]'],
    ['over lines', '[\r\n\t1,\r\n\t2,\r\n\t3\r\n]\r\n', [3], '[\r\n\t3\r\n]\r\n'],
    ['numbers in any form', '[1.0, 1e3, 5]', [1, 1000], '[1.0, 1e3]'],
    ['nothing to leave out', '[]', [], '[]'],
    ['behind a byte order mark', '\uFEFF[1,2]', [2], '\uFEFF[2]'],
  ])('%s', (_, text, values, expected) => {
    expect(keeping(text, values)).toBe(expected);
  });
});

describe('an added value is formatted like its neighbours', () => {
  test.each([
    ['on one line without blanks', '{"a":[{"n":1}]}', '{"a":[{"n":1},{"n":2}]}'],
    ['on one line with blanks', '{"a": [{"n": 1}]}', '{"a": [{"n": 1}, { "n": 2 }]}'],
    [
      'over lines',
      '{\n  "a": [\n    {\n      "n": 1\n    }\n  ]\n}\n',
      '{\n  "a": [\n    {\n      "n": 1\n    },\n    {\n      "n": 2\n    }\n  ]\n}\n',
    ],
    [
      'with tabs and CR LF',
      '{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}',
      '{\r\n\t"a": [\r\n\t\t1,\r\n\t\t{\r\n\t\t\t"n": 2\r\n\t\t}\r\n\t]\r\n}',
    ],
    ['in an empty list', '{\n    "a": []\n}', '{\n    "a": [\n        {\n            "n": 2\n        }\n    ]\n}'],
    ['in an empty list on one line', '{"a":[]}', '{"a":[{"n":2}]}'],
  ])('%s', (_, text, expected) => {
    expect(appending(text, findMember(rootOf(text), 'a') ?? rootOf(text), { n: 2 })).toBe(expected);
  });
});

test('a piece keeps its form and takes the indentation and line ends of where it goes', () => {
  expect(transplantText('{\r\n\t\t"n":  1.0\r\n\t}', { indent: '\t' }, { indent: '    ', lineEnd: '\n' })).toBe(
    '{\n    \t"n":  1.0\n    }',
  );
});

// JSON has no -0.
const value = fc.jsonValue({ maxDepth: 2 }).map((any) => JSON.parse(JSON.stringify(any)) as unknown);
const laidOut = fc.tuple(fc.array(value, { maxLength: 6 }), fc.constantFrom(undefined, 1, 2, '\t'), fc.boolean());

test('any list: what is kept and what is added is there, in order, and nothing else', () => {
  fc.assert(
    fc.property(
      laidOut,
      value,
      fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
      ([values, indent, crLf], added, mask) => {
        const written = JSON.stringify(values, null, indent);
        const text = crLf ? written.replaceAll('\n', '\r\n') : written;
        const nodes = listArrayItems(rootOf(text));
        const kept = applyEdits(text, [
          keepChildren(
            text,
            rootOf(text),
            (node) => mask[nodes.findIndex(({ offset }) => offset === node.offset)] ?? false,
          ),
        ]);
        expect(convertNode(rootOf(kept))).toEqual(values.filter((_, index) => mask[index]));
        const more = appending(kept, rootOf(kept), added);
        expect(convertNode(rootOf(more))).toEqual([...values.filter((_, index) => mask[index]), added]);
      },
    ),
  );
});
