import { describe, expect, test } from 'vitest';
import { doneSignalsSchema, KNOWN_SIGNALS, parseDoneSignals } from '../../../../src/core/analysis/done-signals.ts';
import { findPhrases } from '../../../../src/core/analysis/phrases.ts';
import { analyzeAt, block, inEveryFormat } from '../../agents/claude/fixtures.ts';

test.each<[string, boolean]>([
  ['<promise>COMPLETE</promise>', true],
  ['All stories pass.\n\n<promise>COMPLETE</promise>', true],
  ['**<promise>COMPLETE</promise>**', true],
  ['`<promise>COMPLETE</promise>`', false],
  ['```\n<promise>COMPLETE</promise>\n```', false],
  ['> <promise>COMPLETE</promise>', false],
  ['I do not answer <promise>COMPLETE</promise> yet.', false],
  ['If all pass, I will reply with <promise>COMPLETE</promise>', false],
  ['<promise>INCOMPLETE</promise>', false],
  ['<promise>COMPLETE', false],
])('the promise is read outside code and quotes, and where nothing takes it back: %j → %s', (message, expected) => {
  for (const [, output] of inEveryFormat(message)) {
    const { signal, completionIndicator, confidence } = analyzeAt(output);
    expect(completionIndicator).toBe(expected);
    expect(confidence).toBe(expected ? 95 : 0);
    expect(signal.exitSignal).toBeNull();
  }
});

test('a status block says it better than any promise', () => {
  const message = `<promise>COMPLETE</promise>\n${block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: false')}`;
  expect(analyzeAt(message)).toMatchObject({
    completionIndicator: false,
    signal: { from: 'block', exitSignal: false },
  });
  expect(analyzeAt(`<promise>COMPLETE</promise>\n${block('STATUS: IN_PROGRESS')}`)).toMatchObject({
    completionIndicator: false,
  });
});

test.each<[string, string, boolean]>([
  ['SHIP IT', 'Built it.\nSHIP IT', true],
  ['SHIP IT', 'We ship it now.', true],
  ['SHIP IT', 'We ship items.', false],
  ['SHIP IT', 'Worship it.', false],
  ['SHIP IT', 'Do not ship it.', false],
  ['[all] done (100%)', 'Report: [all] done (100%)', true],
  ['.*', 'anything', false],
  ['fertig: alles', 'Fertig: alles', true],
])('a text of the repository, %j, in %j as whole words: %s', (text, prose, expected) => {
  expect(findPhrases(prose, [text]).confidence >= 60).toBe(expected);
});

test.each<[string, boolean, boolean]>([
  ['Project ready', true, false],
  ['The project is now ready.', true, false],
  ['The project is ready to be built.', false, false],
  ['The project is not ready.', false, false],
  ['Done.', true, false],
  ['done', true, false],
  ['All done!', true, false],
  ['Done. I added the parser.', false, false],
  ['I am not done.', false, false],
  ['Everything is up to date.', true, true],
  ['Up to date.', false, true],
  ['The README is up to date, I added a section.', false, false],
  ['The lockfile is not up to date.', false, false],
])('the words of the first Ralphs: %j → an indicator %s, nothing to do %s', (message, indicator, noWork) => {
  expect(analyzeAt(message)).toMatchObject({ completionIndicator: indicator, noWork, signal: { exitSignal: null } });
});

describe('`signals` of .ralph/config.json', () => {
  test.each<[string, string | null]>([
    ['no file', null],
    ['a file without the key', '{ "steps": [] }'],
    ['an empty object', '{ "signals": {} }'],
    ['something else altogether', '[]'],
  ])('%s: the known ones', (_, text) => {
    expect(parseDoneSignals(text)).toEqual({ signals: KNOWN_SIGNALS, problems: [] });
  });

  test('adds to the known ones, each once', () => {
    const text = JSON.stringify({
      signals: { done: [' SHIP IT ', 'SHIP IT'], markers: ['DONE.txt', '.ralph-complete'] },
    });
    expect(parseDoneSignals(`\uFEFF${text}`)).toEqual({
      signals: { done: ['<promise>COMPLETE</promise>', 'SHIP IT'], markers: ['.ralph-complete', 'DONE.txt'] },
      problems: [],
    });
  });

  test.each<[string, unknown, readonly RegExp[]]>([
    ['a text too short', { done: ['ok'] }, [/^\.ralph\/config\.json: signals\.done\[0\] is shorter than 4 characters/]],
    ['a text without words', { done: ['----'] }, [/signals\.done\[0\] has neither letters nor digits/]],
    ['lines', { done: ['a line\nanother'] }, [/signals\.done\[0\] has more than one line/]],
    ['no text', { done: [7] }, [/signals\.done\[0\] is invalid: expected string/]],
    ['no list', { done: 'SHIP IT' }, [/signals\.done is invalid: expected array/]],
    [
      'too many',
      { done: Array.from({ length: 21 }, (_, at) => `text ${String(at)}`) },
      [/signals\.done has more than 20 entries/],
    ],
    ['a path out of it', { markers: ['../x'] }, [/signals\.markers\[0\] must stay in the repository/]],
    ['an absolute path', { markers: ['/tmp/x'] }, [/signals\.markers\[0\] must be relative/]],
    ['a path into .git', { markers: ['.GIT/HEAD'] }, [/signals\.markers\[0\] must stay in the repository/]],
    ['a pattern', { markers: ['*.md'] }, [/signals\.markers\[0\] must be the path of one file/]],
    ['an unknown key', { done: [], exit: [] }, [/signals only knows `done` and `markers`/]],
    ['no object', 7, [/signals is invalid: expected object/]],
    ['all at once', { done: ['x'], markers: ['..', '/'] }, [/done\[0\]/, /markers\[0\]/, /markers\[1\]/]],
  ])('%s', (_, signals, problems) => {
    const parsed = parseDoneSignals(JSON.stringify({ signals }));
    expect(parsed.signals).toEqual(KNOWN_SIGNALS);
    for (const problem of problems) expect(parsed.problems).toContainEqual(expect.stringMatching(problem));
  });

  test('a file that is not JSON is a problem of its own', () => {
    // Its other reader says so, with the line.
    expect(parseDoneSignals('{ signals: ')).toEqual({ signals: KNOWN_SIGNALS, problems: [] });
  });
});

test('the known signals keep their own rules', () => {
  expect(doneSignalsSchema.parse(KNOWN_SIGNALS)).toEqual(KNOWN_SIGNALS);
  expect(doneSignalsSchema.parse({})).toEqual({ done: [], markers: [] });
});
