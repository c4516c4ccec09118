import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeNames, encodeNames, locateNamedFile, decodeGitName } from '../../../src/git/names.ts';

describe('names of files', () => {
  test.each<[string, readonly number[], string]>([
    ['plain', [0x61, 0x62], 'ab'],
    ['UTF-8', [0xc3, 0xa9], 'é'],
    ['a real replacement character', [0xef, 0xbf, 0xbd], '\u{FFFD}'],
    ['a character beyond the first plane', [0xf0, 0x9f, 0x98, 0x80], '😀'],
    ['Latin-1', [0x63, 0xe9, 0x2e], 'c\u{DCE9}.'],
    ['a character that is cut off', [0xc3], '\u{DCC3}'],
    ['an encoded surrogate', [0xed, 0xb3, 0xa9], '\u{DCED}\u{DCB3}\u{DCA9}'],
    ['an overlong slash', [0xc0, 0xaf], '\u{DCC0}\u{DCAF}'],
    ['both kinds in one', [0xe9, 0xc3, 0xa9, 0x00, 0xff], '\u{DCE9}é\0\u{DCFF}'],
  ])('%s', (_, bytes, text) => {
    expect(decodeNames(Buffer.from(bytes))).toBe(text);
    expect([...encodeNames(text)]).toEqual(bytes);
  });

  test('all bytes come back as they were, and no two names are the same text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect([...encodeNames(decodeNames(Buffer.from(bytes)))]).toEqual([...bytes]);
      }),
    );
  });

  test('people and programs get Unicode, the disk its bytes', () => {
    expect(decodeGitName('c\u{DCE9}')).toBe('c\u{FFFD}');
    expect(locateNamedFile('/top', 'a/b')).toBe('/top/a/b');
    expect(locateNamedFile('/top', 'c\u{DCE9}')).toEqual(Buffer.from([...Buffer.from('/top/c'), 0xe9]));
  });
});
