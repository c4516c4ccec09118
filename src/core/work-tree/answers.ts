import { z } from 'zod';
import { oneLine } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';

/** More of it is not looked at. */
export const MOST_BESIDE = 50;

const MAX_NAME_CHARS = 200;

const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** Work that a git directory knows of and the work tree does not hold. `id`: the commit that it ends with; of a work tree, the tree of its files. */
const besideSchema = z.object({
  is: z.enum(['branch', 'ref', 'stash', 'head', 'work-tree']),
  name: z.string().min(1).max(4096),
  id: objectId,
  /** The commit that another work tree has checked out. */
  head: objectId.optional(),
});

/** See `besideSchema`. */
export type BesideWork = z.infer<typeof besideSchema>;

/** Why it is left out, as a part of a sentence. */
export const BESIDE = 'it is beside the work tree, and only what is in the work tree is published';

/** Why a path of the work tree is in its tree under a substitute for its content. */
const standInSchema = z.discriminatedUnion('is', [
  z.object({ is: z.literal('repository') }),
  z.object({ is: z.literal('unreadable') }),
  z.object({ is: z.literal('refused') }),
  z.object({ is: z.literal('too-large'), bytes: z.int().nonnegative() }),
]);

/** See `standInSchema`. */
export type StandIn = z.infer<typeof standInSchema>;

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
interface ReadAnswer<K extends TreeQuestion> {
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

/** Continues a sentence about the path; GitHub takes no file of more than 100 MiB. */
export function whyStandIn(standIn: StandIn): string {
  switch (standIn.is) {
    case 'repository':
      return 'it is a git repository of its own';
    case 'unreadable':
      return 'it cannot be read';
    case 'refused':
      return 'git does not take it: its name or its encoding is not what git, or a line of .gitattributes, asks for';
    case 'too-large':
      return `it is larger than the 100 MiB that GitHub takes (${Math.ceil(standIn.bytes / 2 ** 20)} MiB)`;
  }
}

/** What people and the agent call it. The name is the agent's. */
export function nameOfBeside({ is, name }: BesideWork): string {
  const shown = oneLine(name, MAX_NAME_CHARS - 40);
  const names = {
    branch: `branch ${shown}`,
    ref: shown,
    stash: shown,
    head: `commit ${shown} of no branch`,
    'work-tree': `work tree ${shown}`,
  } as const;
  return names[is];
}

/** What of it is new, or is not as it was. */
export function newBeside(before: readonly BesideWork[], now: readonly BesideWork[]): readonly BesideWork[] {
  // The number of a stash is another one once there is a newer one.
  const keyOf = ({ is, name, id }: BesideWork): string => `${is} ${is === 'stash' ? '' : name} ${id}`;
  const known = new Set(before.map(keyOf));
  return now.filter((item) => !known.has(keyOf(item)));
}
