import { z } from 'zod';
import { tryJson } from '../text/try-json.ts';
import { besideSchema, MOST_BESIDE } from './beside.ts';
import { standInSchema } from './stand-in.ts';

/** GitHub takes no larger push; what an agent packs to be larger is not worth unpacking. */
export const LARGEST_PACK_BYTES = 2 * 1024 * 1024 * 1024;
/** An answer has at most so many bytes, without the pack behind it. */
export const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024;
/** More paths are not named one by one. */
export const MOST_PATHS = 100_000;
/** So much of a pack is handed over at once. */
export const CHUNK_BYTES = 8 * 1024 * 1024;
/** Longer words of the worker are cut. */
export const MOST_WORDS = 2_000;

/** Of git; in a text of JSON a character may stand for several bytes. */
const LONGEST_PATH = 4_096;
const MOST_WARNINGS = 20;

const LARGEST_PATCH_CHARS = 1024 * 1024;

const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const path = z.string().min(1).max(LONGEST_PATH);
const words = z.string().max(MOST_WORDS);
const treeEntry = z.object({ mode: z.string().regex(/^[0-7]{6}$/), id: objectId });
const packBytes = z.int().positive().max(LARGEST_PACK_BYTES);

/** What is asked of the worker that runs in the work tree as the agent's user, and what it answers. */
const answers = {
  open: z.object({ kind: z.literal('open') }),
  reset: z.object({ kind: z.literal('reset') }),
  read: z.object({
    kind: z.literal('read'),
    head: objectId.nullable(),
    tree: objectId,
    standIns: z.array(z.object({ path, standIn: standInSchema })).max(MOST_PATHS),
    beside: z.array(besideSchema).max(MOST_BESIDE).default([]),
    /** Sizes of the packs with what is new: the commits up to `head`, and what `tree` has besides. null: nothing. */
    packs: z.object({ commits: packBytes.nullable(), content: packBytes.nullable() }),
  }),
  /** So many bytes of the pack follow. */
  pack: z.object({ kind: z.literal('pack'), bytes: z.int().positive().max(CHUNK_BYTES) }),
  /** null: what is wanted is not at hand. */
  'put-back': z.object({
    kind: z.literal('put-back'),
    paths: z.array(path).max(MOST_PATHS).nullable(),
    /** What could not be put back: how it is, and what it counts as. null: it is not there. */
    left: z.array(z.object({ path, found: treeEntry.nullable(), counted: treeEntry.nullable() })).max(MOST_PATHS),
  }),
  /** null: the patch would change nothing, or cannot be made. */
  'patch-of': z.object({ kind: z.literal('patch-of'), patch: z.string().max(LARGEST_PATCH_CHARS).nullable() }),
  leave: z.object({ kind: z.literal('leave') }),
  'read-texts': z.object({ kind: z.literal('read-texts'), texts: z.record(path, z.string()) }),
  'read-end': z.object({ kind: z.literal('read-end'), text: z.string().nullable() }),
  replace: z.object({ kind: z.literal('replace') }),
  remove: z.object({ kind: z.literal('remove') }),
} as const;

const failed = z.object({ kind: z.literal('failed'), why: words });

/** `why`: the worker's own words. */
type Failed = z.infer<typeof failed>;
type Answers = { readonly [K in keyof typeof answers]: z.infer<(typeof answers)[K]> };
export type TreeQuestion = keyof Answers;
/** What the worker answers to a question of that kind. */
export type TreeAnswer<K extends TreeQuestion> = Answers[K];

/** What the worker met on the way, to be reported. */
const asides = z.object({ warnings: z.array(words).max(MOST_WARNINGS) });

/** An answer as the worker writes it: one line of JSON. */
export interface ReadAnswer<K extends TreeQuestion> {
  readonly answer: TreeAnswer<K> | Failed;
  readonly warnings: readonly string[];
}

/** The line with which the worker answers. */
export function renderTreeAnswer(answer: TreeAnswer<TreeQuestion> | Failed, warnings: readonly string[]): string {
  const shortened = warnings.slice(0, MOST_WARNINGS).map((warning) => warning.slice(0, MOST_WORDS));
  return `${JSON.stringify({ ...answer, warnings: shortened })}\n`;
}

/** Reads an answer to a question of that kind; null: it is none. The agent may have written it. */
export function parseTreeAnswer<K extends TreeQuestion>(kind: K, line: string): ReadAnswer<K> | null {
  const value = tryJson(line);
  const aside = asides.safeParse(value);
  const answer = z.union([answers[kind], failed]).safeParse(value);
  return aside.success && answer.success
    ? { answer: answer.data as TreeAnswer<K> | Failed, warnings: aside.data.warnings }
    : null;
}
