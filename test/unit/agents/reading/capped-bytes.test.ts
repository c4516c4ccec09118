import { describe, expect, test } from 'vitest';
import { createCappedBytes, decodeKept, type CappedBytes } from '../../../../src/agents/reading/capped-bytes.ts';

const MI = 1024 * 1024;
/** A prime period, so that bytes do not repeat at a distance that is a multiple of a power of two. */
const PERIOD = 65_521;

describe('of a run of bytes', () => {
  const isSame = (bytes: Uint8Array | null, expected: Uint8Array): boolean =>
    bytes !== null && Buffer.compare(bytes, expected) === 0;

  test.each<[string, number[]]>([
    ['nothing', []],
    ['a few', [10, 0, 33]],
    ['more than a page', [4_000, 100, 9_000]],
    ['1 MiB', [MI]],
    ['1 MiB in two', [MI - 1, 1]],
    ['1 MiB and more', [MI, 1, 40]],
    ['1 MiB and more at once', [10, MI + 10]],
    ['5 MiB', [2 * MI, 3 * MI]],
    ['5 MiB at once', [5 * MI]],
  ])('all are kept: %s', (_what, sizes) => {
    const { bytes, written, total } = append(sizes);
    expect(bytes.length()).toBe(total);
    const { head, tail } = bytes.kept();
    expect(tail).toBeNull();
    expect(isSame(head, written.subarray(0, total))).toBe(true);
  });

  test.each<[string, number[]]>([
    ['one more than 5 MiB', [5 * MI, 1]],
    ['one more than 5 MiB at once', [5 * MI + 1]],
    ['far more at once', [100, 11 * MI]],
    ['more, bit by bit', [MI, 4 * MI - 1, 3, 10, 4 * MI, 100, 2 * MI]],
    ['twice the ring', [MI, 4 * MI, 4 * MI]],
  ])('the first MiB and the last four are kept: %s', (_what, sizes) => {
    const { bytes, written, total } = append(sizes);
    const { head, tail } = bytes.kept();
    expect(isSame(head, written.subarray(0, MI))).toBe(true);
    expect(isSame(tail, written.subarray(total - 4 * MI, total))).toBe(true);
  });

  test('nothing is left once it was cleared', () => {
    const { bytes } = append([6 * MI]);
    bytes.clear();
    expect(bytes.length()).toBe(0);
    bytes.append(Uint8Array.of(1, 2, 3));
    expect(bytes.kept()).toEqual({ head: Uint8Array.of(1, 2, 3), tail: null });
  });

  interface Run {
    readonly bytes: CappedBytes;
    readonly written: Uint8Array;
    readonly total: number;
  }

  function append(sizes: readonly number[]): Run {
    const written = createBytes(sizes.reduce((sum, size) => sum + size, 0));
    const bytes = createCappedBytes();
    let total = 0;
    for (const size of sizes) bytes.append(written.subarray(total, (total += size)));
    return { bytes, written, total };
  }

  function createBytes(length: number): Uint8Array {
    const period = Uint8Array.from({ length: PERIOD }, (_, index) => (index * 31 + (index >> 8)) & 0xff);
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at += PERIOD) bytes.set(period.subarray(0, length - at), at);
    return bytes;
  }
});

test.each<[string, string, string | null, string]>([
  ['whole', 'a b', null, 'a b'],
  ['with a byte order mark', '\uFEFFa', null, '\uFEFFa'],
  ['cut at the blanks beside its gap', 'one two thr', 'ee four five', 'one two … four five'],
  ['cut where it is without a blank', 'one', 'two', 'one … two'],
])('the kept bytes are decoded %s', (_how, head, tail, text) => {
  const encode = (words: string): Uint8Array => new TextEncoder().encode(words);
  expect(decodeKept({ head: encode(head), tail: tail === null ? null : encode(tail) })).toBe(text);
});
