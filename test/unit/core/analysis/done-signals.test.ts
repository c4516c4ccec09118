import { expect, test } from 'vitest';
import { doneSignalsSchema, KNOWN_SIGNALS } from '../../../../src/core/analysis/done-signals.ts';
import { findPhrases } from '../../../../src/core/analysis/analyze.ts';
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
  ['SHIP IT', 'Built it.\n**SHIP IT**', true],
  ['__DONE__', 'All is built.\n__DONE__', true],
  ['__DONE__', 'I have done the parser.', false],
  ['**DONE**', 'I have done the lexer.', false],
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

test('the known signals keep their own rules', () => {
  expect(doneSignalsSchema.parse(KNOWN_SIGNALS)).toEqual(KNOWN_SIGNALS);
  expect(doneSignalsSchema.parse({})).toEqual({ done: [], markers: [] });
});
