import { z } from 'zod';
import type { Immutable } from '../policy.ts';

const MAX_TEXTS = 20;
const MAX_TEXT_CHARS = 200;
const MIN_TEXT_CHARS = 4;
const MAX_MARKERS = 10;
const MAX_PATH_CHARS = 200;

const doneText = z
  .string()
  .trim()
  .min(MIN_TEXT_CHARS, `is shorter than ${MIN_TEXT_CHARS} characters, so it would be found in any message`)
  .max(MAX_TEXT_CHARS, `is longer than ${MAX_TEXT_CHARS} characters`)
  .regex(/^[^\r\n]*$/, 'has more than one line')
  .regex(/[\p{L}\p{N}]/u, 'has neither letters nor digits');

const marker = z
  .string()
  .min(1, 'is empty')
  .max(MAX_PATH_CHARS, `is longer than ${MAX_PATH_CHARS} characters`)
  .regex(/^[^\p{Cc}*?[\]{}\\]*$/u, 'must be the path of one file, without patterns, backslashes or control characters')
  .regex(/^(?!\/|[a-z]:)/i, 'must be relative to the repository')
  .refine(
    (path) => path.split('/').every((name) => !['', '.', '..'].includes(name) && name.toLowerCase() !== '.git'),
    'must stay in the repository, and out of .git',
  );

/**
 * The user's signs that everything is done: `done`, texts found as whole words in the final message; `markers`, files
 * that the agent creates.
 */
export const doneSignalsSchema = z.strictObject(
  {
    done: z.array(doneText).max(MAX_TEXTS, `has more than ${MAX_TEXTS} entries`).default([]),
    markers: z.array(marker).max(MAX_MARKERS, `has more than ${MAX_MARKERS} entries`).default([]),
  },
  { error: (issue) => (issue.code === 'unrecognized_keys' ? 'only knows `done` and `markers`' : undefined) },
);

/** The texts and files that count as a completion claim, besides the status block and the phrases of a message. */
export type DoneSignals = Immutable<z.infer<typeof doneSignalsSchema>>;

/** The signals that work without a setting; other Ralphs use the same file. */
export const KNOWN_SIGNALS: DoneSignals = { done: ['<promise>COMPLETE</promise>'], markers: ['.ralph-complete'] };
