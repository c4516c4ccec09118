import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJournal, type Journal } from '../../../../src/core/journal/parse-journal.ts';
import { idle, progress } from '../core-fixtures.ts';
import { record } from './journal-fixtures.ts';

const text = record([progress(), idle, idle, idle]).text;
const lines = text.trimEnd().split('\n');
const [start = '', first = '', second = ''] = lines;
const end = lines.at(-1) ?? '';

function journalOf(journal: string): Journal {
  const parsed = parseJournal(journal);
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal;
}

function problemsOf(journal: string): readonly string[] {
  const parsed = parseJournal(journal);
  return parsed.kind === 'unusable' ? parsed.problems.map(({ line, why }) => `${String(line)}: ${why}`) : [];
}

test('a whole journal: start, iterations, end', () => {
  expect(journalOf(text)).toMatchObject({
    start: { lane: 'queue' },
    entries: [{ iteration: 1 }, { iteration: 2 }, { iteration: 3 }, { iteration: 4 }],
    end: { outcome: { kind: 'halted' } },
    torn: false,
  });
});

test('a byte order mark in front is left out', () => {
  expect(parseJournal(`\uFEFF${start}\n`)).toEqual(parseJournal(`${start}\n`));
  expect(parseJournal(`\uFEFF${start}\n`).kind).toBe('journal');
});

describe('a run that was killed', () => {
  test.each([
    ['between two iterations', `${start}\n${first}\n`, { iterations: 1, torn: false }],
    ['before its first iteration', `${start}\n`, { iterations: 0, torn: false }],
    ['while a line was written', `${start}\n${first}\n${second.slice(0, 50)}`, { iterations: 1, torn: true }],
    ['before the line end was written', `${start}\n${first}`, { iterations: 1, torn: false }],
  ])('%s leaves a journal without an end', (_, journal, { iterations, torn }) => {
    const read = journalOf(journal);
    expect({ iterations: read.entries.length, torn: read.torn, end: read.end }).toEqual({
      iterations,
      torn,
      end: null,
    });
  });
});

describe('a mistake is reported with its line', () => {
  test.each<[string, string, readonly (string | RegExp)[]]>([
    ['an empty file', '', [/^1: a journal begins with the start/]],
    ['only a cut-off start', start.slice(0, 40), [/^1: a journal begins with the start/]],
    ['no start', `${first}\n`, [/^1: a journal begins with the start/]],
    ['a second start', `${start}\n${start}\n`, [/^2: a second start/]],
    ['a line that is not JSON', `${start}\nnonsense\n${second}\n`, [/^2: it is not JSON$/]],
    ['a missing iteration', `${start}\n${second}\n`, [/^2: it is iteration 2; 1 was expected$/]],
    [
      'lines after the end',
      `${start}\n${first}\n${end}\n${second}\n`,
      [/^3: the run has ended/, /^4: it is iteration 2/],
    ],
    [
      'another lane',
      `${start}\n${first.replace('"lane":"queue"', '"lane":"issue-7"')}\n`,
      [/^2: it belongs to issue-7, the journal to queue$/],
    ],
    [
      'a task that the run did not have',
      `${start}\n${first.replaceAll('"issue-1"', '"issue-9"')}\n`,
      [/^2: its task issue-9 is not among/],
    ],
    ['a field that is missing', `${start}\n${first.replace('"endedAt"', '"end"')}\n`, [/^2: endedAt: missing/]],
    ['several lines', `nonsense\n${first}\n{}\n`, [/^1: it is not JSON/, /^3: kind: missing/]],
  ])('%s', (_, journal, expected) => {
    const problems = problemsOf(journal);
    expect(problems).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(problems[index]).toMatch(pattern);
  });
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(start, first, second, end, ''), fc.string())), (parts) => {
      expect(['journal', 'unusable']).toContain(parseJournal(parts.join('\n')).kind);
    }),
  );
});
