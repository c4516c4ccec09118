import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CHAIN_START, chainJournalLine, checkChain } from '../../../../src/core/journal/chain.ts';
import { parseJournal } from '../../../../src/core/journal/parse-journal.ts';
import { idle, progress } from '../core-fixtures.ts';
import { record } from './journal-fixtures.ts';

const sha256 = (line: string): string => createHash('sha256').update(line).digest('hex');

function chained(lines: readonly string[]): readonly string[] {
  let hash = CHAIN_START;
  return lines.map((line) => {
    const link = chainJournalLine(line, hash);
    hash = sha256(link);
    return link;
  });
}

const plain = record([progress(), idle, idle, idle]).text.trimEnd().split('\n');
const lines = chained(plain);
const check = (kept: readonly string[]) => checkChain(`${kept.join('\n')}\n`, sha256);

test('a chained journal says the same as one without hashes', () => {
  expect(parseJournal(lines.join('\n'))).toEqual(parseJournal(plain.join('\n')));
});

describe('a chain', () => {
  test('is intact, whole or cut off in its last line', () => {
    expect(check(lines)).toEqual({ kind: 'intact', last: sha256(lines.at(-1) ?? '') });
    expect(checkChain(lines.join('\n').slice(0, -5), sha256)).toEqual({
      kind: 'intact',
      last: sha256(lines.at(-2) ?? ''),
    });
    expect(checkChain(lines.join('\n'), sha256)).toMatchObject({ kind: 'intact' });
  });

  test('of an earlier version is called unchained', () => {
    expect(check(plain)).toEqual({ kind: 'unchained', last: sha256(plain.at(-1) ?? '') });
    expect(checkChain('', sha256)).toEqual({ kind: 'unchained', last: null });
  });

  test.each<[string, readonly string[], number]>([
    ['a changed line', lines.with(1, (lines[1] ?? '').replace('"progress":true', '"progress":false')), 3],
    ['a line less', lines.toSpliced(2, 1), 3],
    ['the first line gone', lines.slice(1), 1],
    ['a line more', lines.toSpliced(2, 0, lines[1] ?? ''), 3],
    ['two lines swapped', [...lines.slice(0, 2), lines[3] ?? '', lines[2] ?? '', ...lines.slice(4)], 3],
    ['a line without a hash', lines.with(2, plain[2] ?? ''), 3],
  ])('is broken by %s', (_, kept, line) => {
    expect(check(kept)).toEqual({ kind: 'broken', line });
  });
});
