import { z } from 'zod';
import type { HiddenKind } from '../../markdown/hidden.ts';
import type { Immutable } from '../policy.ts';

/** Code points of which a reader sees nothing. */
type CharacterKind = 'invisible' | 'control' | 'bidi';

/**
 * Controls, what Unicode lets fonts ignore or has not assigned, and glyphs that are blank by design (braille, a notehead,
 * the Khitan filler). The marks that Arabic, Syriac and Kaithi write in front of numbers are seen although they are format characters.
 */
const UNSEEN =
  /^[[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\u2800\u{1D159}\u{16FE4}]--[\t\n\u0085\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]]$/v;

/** Unicode's recommended emoji are tried first, so that what stands in one is not taken for unseen. */
const emojiOrUnseen = new RegExp(`\\p{RGI_Emoji}|${UNSEEN.source.slice(1, -1)}`, 'gv');

export type CleanKind = HiddenKind | CharacterKind;

const count = z.number().int().positive().exactOptional();

/** What `ralph clean --json` prints: a change that breaks readers needs a new major version. */
export const cleanedTextSchema = z.object({
  text: z.string().describe('What is left: what a reader of the rendered page sees, still as Markdown.'),
  removed: z.number().int().nonnegative().describe('Code points that were removed: the sum of kinds.'),
  kinds: z
    .object({
      'html-comment': count.describe('HTML comments, also those that nobody closed.'),
      'html-hidden': count.describe(
        'Other HTML and Markdown that is not drawn: attributes, scripts, unknown tags, cells beyond the header.',
      ),
      invisible: count.describe('Characters without a glyph, and character references to them.'),
      control: count.describe('Control characters other than tab and line ends.'),
      bidi: count.describe('Characters that turn the direction of text.'),
      'link-title': count.describe('Titles of links and images.'),
      'link-definition': count.describe(
        'Definitions of links, names of references to them, and footnotes that nothing refers to.',
      ),
      'image-alt': count.describe('Alternative texts of images.'),
    } satisfies Record<CleanKind, typeof count>)
    .describe('Code points by what hid them; a kind that was not found is absent.'),
});

/** Text that is fit for a prompt; `removed` counts code points that were taken out or cut off, `kinds` those that a reader would not have seen. */
export type CleanedText = Immutable<z.infer<typeof cleanedTextSchema>>;

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
