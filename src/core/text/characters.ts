/** Code points of which a reader sees nothing. */
export type CharacterKind = 'invisible' | 'control' | 'bidi';

/** Line ends as Markdown knows them, all of one kind. */
export function plainLines(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

/** One kind of blank, and line feeds for the other line separators: what stays the same for a reader. */
export function plainBlanks(text: string): string {
  return text.replaceAll(/[\u0085\u2028\u2029]/g, '\n').replaceAll(/\p{Zs}/gu, ' ');
}

/** Where characters stand that nobody sees, offsets in UTF-16. Emoji that need joiners or selectors keep them. */
export function findUnseen(
  text: string,
): readonly { readonly kind: CharacterKind; readonly start: number; readonly end: number }[] {
  return [...text.matchAll(emojiOrUnseen)].flatMap(({ 0: found, index }) => {
    const kind = [...found].length === 1 ? characterKind(found) : null;
    return kind === null ? [] : [{ kind, start: index, end: index + found.length }];
  });
}

/** How a reader misses a character; null: it is seen, or is a blank. */
export function characterKind(character: string): CharacterKind | null {
  if (!UNSEEN.test(character)) return null;
  if (/^\p{Bidi_Control}$/u.test(character)) return 'bidi';
  return /^\p{Cc}$/u.test(character) ? 'control' : 'invisible';
}

/**
 * Controls, what Unicode lets fonts ignore or has not assigned, and glyphs that are blank by design (braille, a notehead,
 * the Khitan filler). The marks that Arabic, Syriac and Kaithi write in front of numbers are seen although they are format characters.
 */
const UNSEEN =
  /^[[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\u2800\u{1D159}\u{16FE4}]--[\t\n\u0085\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]]$/v;

/** Unicode's recommended emoji are tried first, so that what stands in one is not taken for unseen. */
const emojiOrUnseen = new RegExp(`\\p{RGI_Emoji}|${UNSEEN.source.slice(1, -1)}`, 'gv');
