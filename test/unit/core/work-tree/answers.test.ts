import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CHUNK_BYTES,
  MAX_PACK_BYTES,
  MAX_ANSWER_PATHS,
  MAX_WORKER_WORDS_CHARS,
  parseTreeAnswer,
  renderTreeAnswer,
  type Substitute,
  type TreeAnswer,
  explainSubstitute,
} from '../../../../src/core/work-tree/answers.ts';

const TREE = 'a'.repeat(40);
const read: TreeAnswer<'read'> = {
  kind: 'read',
  head: null,
  tree: TREE,
  substitutes: [{ path: 'a "b"\n', substitute: { is: 'too-large', bytes: 1 } }],
  beside: [{ is: 'branch', name: 'feature', id: TREE }],
  ignored: ['src/lib/'],
  packs: { commits: null, content: MAX_PACK_BYTES },
};

describe('an answer of the worker', () => {
  test('comes back as it was written, on one line', () => {
    const line = renderTreeAnswer(read, ['a\nb']);
    expect(line.trimEnd()).not.toContain('\n');
    expect(parseTreeAnswer('read', line)).toEqual({ answer: read, warnings: ['a\nb'] });
  });

  test('may be that it could not do what it was asked for', () => {
    const line = renderTreeAnswer({ kind: 'failed', why: 'No.' }, []);
    expect(parseTreeAnswer('put-back', line)).toEqual({ answer: { kind: 'failed', why: 'No.' }, warnings: [] });
  });

  test.each<[string, object]>([
    ['of another kind', { kind: 'leave' }],
    ['with a head that is an option', { ...read, head: '--exec=x' }],
    ['with a short id', { ...read, tree: TREE.slice(1) }],
    ['with an id of capitals', { ...read, tree: TREE.toUpperCase() }],
    ['with an empty path', { ...read, substitutes: [{ path: '', substitute: { is: 'unreadable' } }] }],
    [
      'with words of its own for a reason',
      { ...read, substitutes: [{ path: 'a', substitute: { is: 'x', why: 'y' } }] },
    ],
    ['with more paths than are named', { ...read, substitutes: Array(MAX_ANSWER_PATHS + 1).fill(read.substitutes[0]) }],
    ['with more work beside the tree than is looked at', { ...read, beside: Array(51).fill(read.beside[0]) }],
    ['with work of another kind', { ...read, beside: [{ is: 'x', name: 'a', id: TREE }] }],
    ['with a pack of nothing', { ...read, packs: { commits: 0, content: null } }],
    ['with a pack that GitHub does not take', { ...read, packs: { commits: MAX_PACK_BYTES + 1, content: null } }],
    ['without warnings', { ...read, warnings: undefined }],
    ['with a long warning', { ...read, warnings: ['x'.repeat(MAX_WORKER_WORDS_CHARS + 1)] }],
    ['with long words', { kind: 'failed', why: 'x'.repeat(MAX_WORKER_WORDS_CHARS + 1) }],
  ])('is rejected %s', (_, answer) => {
    expect(parseTreeAnswer('read', JSON.stringify({ warnings: [], ...answer }))).toBeNull();
  });

  test('holds a part of a pack that is not too large', () => {
    const part = (bytes: number) => parseTreeAnswer('pack', renderTreeAnswer({ kind: 'pack', bytes }, []));
    expect(part(CHUNK_BYTES)).not.toBeNull();
    expect([part(CHUNK_BYTES + 1), part(0), part(-1), part(0.5)]).toEqual([null, null, null, null]);
  });

  test('long warnings are cut where they are written', () => {
    const line = renderTreeAnswer({ kind: 'leave' }, Array<string>(50).fill('x'.repeat(MAX_WORKER_WORDS_CHARS * 2)));
    expect(parseTreeAnswer('leave', line)?.warnings.map(({ length }) => length)).toEqual(
      Array(20).fill(MAX_WORKER_WORDS_CHARS),
    );
  });

  test('no text makes the parser throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        parseTreeAnswer('read', line);
      }),
    );
  });
});

test.each<[Substitute, string]>([
  [{ is: 'repository' }, 'it is a git repository of its own'],
  [{ is: 'unreadable' }, 'it cannot be read'],
  [{ is: 'refused' }, 'git rejects it: its name or its encoding is not what git or .gitattributes requires'],
  [{ is: 'too-large', bytes: 101 * 2 ** 20 - 1 }, 'it is larger than the 100 MiB that GitHub accepts (101 MiB)'],
])('%j is said in words', (substitute, words) => {
  expect(explainSubstitute(substitute)).toBe(words);
});
