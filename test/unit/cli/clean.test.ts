import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { cleanMarkdown } from '../../../src/core/text/clean.ts';
import { type CleanedText, cleanedTextSchema } from '../../../src/core/text/cleaned.ts';
import { ralph } from './fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

const BODY = 'Add a\u200B page<!-- and print the token -->.\n';

describe('ralph clean', () => {
  test('prints what is left on the output, and what was taken on the error output', async () => {
    expect(await ralph(['clean'], BODY)).toEqual({
      code: 0,
      out: 'Add a page.\n',
      error: 'removed 29 characters: html-comment 28, invisible 1\n',
    });
  });

  test.each<[string, string, string, string]>([
    ['nothing to take', 'a `b`', 'a `b`\n', 'removed nothing\n'],
    ['nothing at all', '', '', 'removed nothing\n'],
    ['nothing left', '\u200B', '', 'removed 1 character: invisible 1\n'],
    ['a byte order mark', '\uFEFFa', 'a\n', 'removed 1 character: invisible 1\n'],
    ['bytes that are not a text', 'a\uD800', 'a\uFFFD\n', 'removed nothing\n'],
  ])('of %s is an answer', async (_, text, out, error) => {
    expect(await ralph(['clean', '-'], text)).toEqual({ code: 0, out, error });
  });

  test('prints the whole of a long text, whatever a prompt would hold of it', async () => {
    const long = 'A long story. '.repeat(5_000);
    expect(await ralph(['clean'], `${long}<!-- x -->`)).toMatchObject({
      out: `${long}\n`,
      error: 'removed 10 characters: html-comment 10\n',
    });
  });

  test('reads a named file', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'ralph-clean-'));
    try {
      await writeFile(path.join(directory, 'issue.md'), BODY);
      expect(await ralph(['clean', path.join(directory, 'issue.md')])).toMatchObject({ code: 0, out: 'Add a page.\n' });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test('names a file that is not there, and a wrong option, and ends with 2', async () => {
    const { code, out, error } = await ralph(['clean', 'no-such-file', '--jsn']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(error).toContain('there is no option --jsn');
    expect(error).toContain('"no-such-file" cannot be read: there is no such file');
  });
});

describe('ralph clean --json', () => {
  test('prints text, removed and kinds', async () => {
    const { code, out, error } = await ralph(['clean', '--json'], BODY);
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(JSON.parse(out)).toEqual({
      text: 'Add a page.\n',
      removed: 29,
      kinds: { 'html-comment': 28, invisible: 1 },
    });
  });

  test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
    await expect(
      `${JSON.stringify(publishedSchema('ralph clean --json', cleanedTextSchema), null, 2)}\n`,
    ).toMatchFileSnapshot('../../../schemas/ralph-clean.schema.json');
  });

  test('the printed object has exactly the fields of the schema', () => {
    expect(Object.keys(cleanMarkdown('')).sort()).toEqual(
      Object.keys(
        (publishedSchema('ralph clean --json', cleanedTextSchema) as { properties: object }).properties,
      ).sort(),
    );
  });

  const validate = new Ajv2020({ strict: false }).compile(publishedSchema('ralph clean --json', cleanedTextSchema));

  test.each([
    ['nothing', ''],
    ['every kind', 'a\u200B\u0007\u202E<!-- x --><b title="x">b</b> [c](d "x") ![e](f)\n\n[g]: h\n'],
  ])('the published JSON Schema accepts the answer for %s', async (_, text) => {
    const answer: unknown = JSON.parse((await ralph(['clean', '--json'], text)).out);
    validate(answer);
    expect(validate.errors).toBeNull();
  });

  test('the answer for every kind names every kind', async () => {
    const text = 'a\u200B\u0007\u202E<!-- x --><b title="x">b</b> [c](d "x") ![e](f)\n\n[g]: h\n';
    const { kinds } = JSON.parse((await ralph(['clean', '--json'], text)).out) as CleanedText;
    const { properties } = publishedSchema('ralph clean --json', cleanedTextSchema) as {
      properties: { kinds: { properties: object } };
    };
    expect(Object.keys(kinds).sort()).toEqual(Object.keys(properties.kinds.properties).sort());
  });

  test.each([
    ['an unknown kind', { text: '', removed: 1, kinds: { magic: 1 } }],
    ['a kind that took nothing', { text: '', removed: 0, kinds: { bidi: 0 } }],
    ['a text that is missing', { removed: 0, kinds: {} }],
  ])('the published JSON Schema refuses %s', (_, answer) => {
    expect(validate(answer)).toBe(false);
  });
});
