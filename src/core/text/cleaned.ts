import { z } from 'zod';
import type { HiddenKind } from '../../markdown/hidden.ts';
import type { Immutable } from '../policy.ts';

/** The kinds of code points that a reader cannot see. */
type CharacterKind = 'invisible' | 'control' | 'bidi';

/**
 * Matches controls, code points that Unicode lets fonts ignore or has not assigned, and glyphs that are blank by design
 * (braille, a notehead, the Khitan filler). The marks that Arabic, Syriac and Kaithi write before numbers are visible
 * although they are format characters.
 */
const UNSEEN =
  /^[[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\u2800\u{1D159}\u{16FE4}]--[\t\n\u0085\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]]$/v;

/** Matches Unicode's recommended emoji first, so that their parts do not count as unseen. */
const emojiOrUnseen = new RegExp(`\\p{RGI_Emoji}|${UNSEEN.source.slice(1, -1)}`, 'gv');

export type CleanKind = HiddenKind | CharacterKind;

const count = z.number().int().positive().exactOptional();

/** The output of `ralph clean --json`. A change that breaks readers needs a new major version. */
export const cleanedTextSchema = z.object({
  text: z.string().describe('The remaining text: what a reader of the rendered page sees, still as Markdown.'),
  removed: z.number().int().nonnegative().describe('Code points that were removed: the sum of kinds.'),
  kinds: z
    .object({
      'html-comment': count.describe('HTML comments, including unclosed ones.'),
      'html-hidden': count.describe(
        'Other HTML and Markdown that is not drawn: attributes, scripts, unknown tags, cells beyond the header.',
      ),
      invisible: count.describe('Characters without a glyph, and character references to them.'),
      control: count.describe('Control characters other than tab and line ends.'),
      bidi: count.describe('Characters that change the direction of text.'),
      'link-title': count.describe('Titles of links and images.'),
      'link-definition': count.describe(
        'Definitions of links, names of references to them, and footnotes that nothing refers to.',
      ),
      'image-alt': count.describe('Alternative texts of images.'),
    } satisfies Record<CleanKind, typeof count>)
    .describe('Number of code points by the way in which they were hidden; a kind that was not found is absent.'),
});

/**
 * Text that is fit for a prompt. `removed` counts code points removed or cut off, `kinds` those that a reader would not
 * have seen.
 */
export type CleanedText = Immutable<z.infer<typeof cleanedTextSchema>>;

/** Converts Markdown's line ends to line feeds. */
export function toLineFeeds(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

/** Converts all blanks to spaces and other line separators to line feeds, which look equal to a reader. */
export function normalizeBlanks(text: string): string {
  return text.replaceAll(/[\u0085\u2028\u2029]/g, '\n').replaceAll(/\p{Zs}/gu, ' ');
}

/** Returns the spans of invisible characters as UTF-16 offsets. Emoji keep the joiners and selectors that they need. */
export function findUnseen(
  text: string,
): readonly { readonly kind: CharacterKind; readonly start: number; readonly end: number }[] {
  return [...text.matchAll(emojiOrUnseen)].flatMap(({ 0: found, index }) => {
    const kind = [...found].length === 1 ? classifyCharacter(found) : null;
    return kind === null ? [] : [{ kind, start: index, end: index + found.length }];
  });
}

/** Returns why a character is invisible; null if it is visible or a blank. */
export function classifyCharacter(character: string): CharacterKind | null {
  if (!UNSEEN.test(character)) return null;
  if (/^\p{Bidi_Control}$/u.test(character)) return 'bidi';
  return /^\p{Cc}$/u.test(character) ? 'control' : 'invisible';
}
