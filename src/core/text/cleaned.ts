import { z } from 'zod';
import type { HiddenKind } from '../../markdown/hidden.ts';
import type { Immutable } from '../immutable.ts';
import type { CharacterKind } from './characters.ts';

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
