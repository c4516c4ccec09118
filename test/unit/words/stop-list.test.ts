import { expect, test } from 'vitest';
import { CLAUSE, STOP_LIST } from './stop-list.ts';
import { comments, documents, messages, sources, titles } from './texts.ts';

const programs = sources();
const texts = [...documents(), ...programs.flatMap(messages)];
const allComments = programs.flatMap(comments);
const allTitles = programs.flatMap(titles);

test('public texts are found', () => {
  expect(texts.length).toBeGreaterThan(2000);
  const found = texts.map(([, text]) => text);
  expect(found).toContain('The agent said that the tests pass; they failed.');
  // The text of a next step, which is data.
  expect(found).toContain('the next scheduled run picks up what is left');
});

/** The texts for users: without those for contributors, the names of options, and the files of the state. */
const forUsers = texts
  .filter(([where]) => !/^(?:CONTRIBUTING|docs\/internals|docs\/decisions|bench|\.dependency-cruiser)/.test(where))
  .map(([where, text]) => [where, text.replaceAll(/`[^`]*`|lanes\/[\w-]+\.json/g, '')] as const);

test('the word lane reaches nobody: write "the queue", "issue #7", "branch"', () => {
  const hits = forUsers.filter(([, text]) => /\blanes?\b(?![.-])/i.test(text));
  expect(hits.map(([where, text]) => `${where} ${text}`)).toEqual([]);
});

test('comments and titles of tests are found', () => {
  expect(allComments.length).toBeGreaterThan(8000);
  expect(allTitles.length).toBeGreaterThan(12_000);
});

const allTexts = [...texts, ...allComments, ...allTitles].filter(([where]) => !where.startsWith('test/unit/words/'));

test.each(STOP_LIST)('no text has %s: write "%s"', (stop) => {
  const hits = allTexts.filter(([, text]) => stop.test(text));
  expect(hits.map(([where, text]) => `${where} ${text}`)).toEqual([]);
});

test('no comment begins with a clause: write subject and verb first', () => {
  const hits = allComments.filter(([, text]) => CLAUSE.test(text));
  expect(hits.map(([where, text]) => `${where} ${text}`)).toEqual([]);
});
