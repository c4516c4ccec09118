import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  fitLine,
  wrapParts,
  padLine,
  createPiece,
  spreadParts,
  measureWidth,
  wrapSentence,
} from '../../../../src/cli/monitor/view/columns.ts';
import { runs } from '../../../runs.ts';
import { textOf } from './monitor-fixtures.ts';

const text = (line: ReturnType<typeof fitLine>): string => line.map((part) => part.text).join('');

test.each<[string, number]>([
  ['', 0],
  ['abc', 3],
  ['日本語', 6],
  ['👍', 2],
  ['é', 1],
  ['é', 1],
  ['❤️', 1],
  ['████░░', 6],
  ['↑↓ … ─', 6],
])('%s takes %d columns', (given, columns) => {
  expect(measureWidth([createPiece(given)])).toBe(columns);
});

test.each<[string, readonly string[], number, string]>([
  ['what fits stays', ['abc', 'def'], 6, 'abcdef'],
  ['what is longer ends in an ellipsis', ['abc', 'def'], 5, 'abcd…'],
  ['the ellipsis is the last column', ['abc', 'def'], 3, 'ab…'],
  ['a cut between two pieces', ['abc', 'def'], 4, 'abc…'],
  ['one column', ['abc'], 1, '…'],
  ['no column', ['abc'], 0, ''],
  ['a wide character is not cut in half', ['日本語'], 4, '日…'],
  ['nor one of two UTF-16 units', ['𠮷𠮷𠮷'], 4, '𠮷…'],
  ['nor an emoji', ['👍👍'], 3, '👍…'],
])('fit: %s', (_, pieces, columns, expected) => {
  expect(
    text(
      fitLine(
        pieces.map((part) => createPiece(part)),
        columns,
      ),
    ),
  ).toBe(expected);
});

test('fit keeps the look of what it cuts', () => {
  expect(fitLine([createPiece('abc', 'good'), createPiece('defgh', 'bad')], 5)).toEqual([
    createPiece('abc', 'good'),
    createPiece('d…', 'bad'),
  ]);
});

test('padded fills up to the columns', () => {
  expect(text(padLine([createPiece('日本')], 6))).toBe('日本  ');
});

test('flow puts parts on as few lines as they fit on', () => {
  const parts = ['one', 'two', 'three', 'a part that is too long'].map((part) => [createPiece(part)]);
  expect(textOf(wrapParts(parts, 10))).toEqual(['one  two', 'three', 'a part th…']);
});

test('wrapped breaks between words', () => {
  expect(textOf(wrapSentence('Order saved in the directory', 12, 'good'))).toEqual([
    'Order saved',
    'in the',
    'directory',
  ]);
});

test.each([
  [20, ['left           right']],
  [11, ['left  right']],
  [10, ['left', 'right']],
  [3, ['le…', 'ri…']],
])('spread over %d columns', (columns, expected) => {
  expect(textOf(spreadParts([createPiece('left')], [createPiece('right')], columns))).toEqual(expected);
});

test('nothing that fits is wider than its columns', () => {
  const wide = fc.constantFrom('a', ' ', '日', '👍', 'é', '𠮷', '🇩🇪', '한', 'ア', '─', '…', '❤️', '👨');
  const words = fc.array(wide, { maxLength: 30 }).map((characters) => characters.join(''));
  fc.assert(
    fc.property(fc.array(words, { maxLength: 5 }), fc.integer({ min: 0, max: 40 }), (parts, columns) => {
      const line = fitLine(
        parts.map((part) => createPiece(part)),
        columns,
      );
      expect(measureWidth(line)).toBeLessThanOrEqual(columns);
      expect(text(line)).toBe(text(line).toWellFormed());
    }),
    { numRuns: runs(300) },
  );
});
