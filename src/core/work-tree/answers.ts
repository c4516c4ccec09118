import { z } from 'zod';
import { toOneLine } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';

/** Maximum number of branches, stashes and other work outside the work tree that are examined. */
export const MAX_BESIDE_ITEMS = 50;

const MAX_NAME_CHARS = 200;

const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** Work that exists in the git directory but not in the work tree. */
const besideSchema = z.object({
  is: z.enum(['branch', 'ref', 'stash', 'head', 'work-tree', 'submodule']),
  name: z.string().min(1).max(4096),
  /** Its last commit, or for another work tree and a submodule the tree of its files. */
  id: objectId,
  /** The commit that another work tree has checked out. */
  head: objectId.optional(),
});

/** Work outside of the work tree, see `besideSchema`. */
export type BesideWork = z.infer<typeof besideSchema>;

/** The reason for leaving out work that is not in the work tree, as a part of a sentence. */
export const OUTSIDE_WORK_TREE = 'only files that git sees in the work tree are published';

/** Schema of a Substitute. */
const substituteSchema = z.discriminatedUnion('is', [
  z.object({ is: z.literal('repository') }),
  z.object({ is: z.literal('unreadable') }),
  z.object({ is: z.literal('refused') }),
  z.object({ is: z.literal('too-large'), bytes: z.int().nonnegative() }),
]);

/** The reason why the tree of the work tree contains a substitute for the content of a path. */
export type Substitute = z.infer<typeof substituteSchema>;

/** Maximum size of a pack in bytes. GitHub rejects larger pushes, so unpacking a larger one would be pointless. */
export const MAX_PACK_BYTES = 2 * 1024 * 1024 * 1024;

/** Maximum size of an answer in bytes, without the pack that follows it. */
export const MAX_TREE_ANSWER_BYTES = 64 * 1024 * 1024;

/** Maximum number of ignored paths that are compared. */
export const MAX_IGNORED_PATHS = 1_000;

/** Maximum number of paths that are named one by one. */
export const MAX_ANSWER_PATHS = 100_000;

/** Size in bytes of the parts in which a pack is handed over. */
export const CHUNK_BYTES = 8 * 1024 * 1024;

/** Maximum length of the worker's words in characters; longer ones are cut. */
export const MAX_WORKER_WORDS_CHARS = 2_000;

/** Maximum length of a path, git's limit in bytes; a character of a JSON text may take several bytes. */
const MAX_GIT_PATH_CHARS = 4_096;

const MAX_WORKER_WARNINGS = 20;

const MAX_PATCH_CHARS = 1024 * 1024;

const path = z.string().min(1).max(MAX_GIT_PATH_CHARS);

const words = z.string().max(MAX_WORKER_WORDS_CHARS);

const treeEntry = z.object({ mode: z.string().regex(/^[0-7]{6}$/), id: objectId });

const packBytes = z.int().positive().max(MAX_PACK_BYTES);

/** The questions to the worker that runs in the work tree as the agent's user, with the schemas of its answers. */
const answers = {
  open: z.object({ kind: z.literal('open') }),
  reset: z.object({ kind: z.literal('reset') }),
  read: z.object({
    kind: z.literal('read'),
    head: objectId.nullable(),
    tree: objectId,
    substitutes: z.array(z.object({ path, substitute: substituteSchema })).max(MAX_ANSWER_PATHS),
    beside: z.array(besideSchema).max(MAX_BESIDE_ITEMS).default([]),
    ignored: z.array(path).max(MAX_IGNORED_PATHS),
    /**
     * Sizes of the packs with new content: the commits up to `head`, and the other content of `tree`; null if
     * none.
     */
    packs: z.object({ commits: packBytes.nullable(), content: packBytes.nullable() }),
  }),
  /** The number of bytes of the pack that follow. */
  pack: z.object({ kind: z.literal('pack'), bytes: z.int().positive().max(CHUNK_BYTES) }),
  'put-back': z.object({
    kind: z.literal('put-back'),
    paths: z.array(path).max(MAX_ANSWER_PATHS).nullable(),
    /**
     * Paths that could not be put back: `found` is the entry there, `counted` the entry that replaces it in
     * comparisons; null if the path does not exist.
     */
    left: z.array(z.object({ path, found: treeEntry.nullable(), counted: treeEntry.nullable() })).max(MAX_ANSWER_PATHS),
  }),
  /** null if the patch would change nothing, or cannot be made. */
  'patch-of': z.object({ kind: z.literal('patch-of'), patch: z.string().max(MAX_PATCH_CHARS).nullable() }),
  leave: z.object({ kind: z.literal('leave') }),
  'read-texts': z.object({ kind: z.literal('read-texts'), texts: z.record(path, z.string()) }),
  'read-end': z.object({ kind: z.literal('read-end'), text: z.string().nullable() }),
  replace: z.object({ kind: z.literal('replace') }),
  remove: z.object({ kind: z.literal('remove') }),
} as const;

const failed = z.object({ kind: z.literal('failed'), why: words });

/** `why` contains the worker's own words. */
type Failed = z.infer<typeof failed>;

type Answers = { readonly [K in keyof typeof answers]: z.infer<(typeof answers)[K]> };

export type TreeQuestion = keyof Answers;

/** The worker's answer to a question of that kind. */
export type TreeAnswer<K extends TreeQuestion> = Answers[K];

/** Problems that the worker met, to be reported. */
const asides = z.object({ warnings: z.array(words).max(MAX_WORKER_WARNINGS) });

/** An answer as the worker writes it: one line of JSON. */
interface ReadAnswer<K extends TreeQuestion> {
  readonly answer: TreeAnswer<K> | Failed;
  readonly warnings: readonly string[];
}

/** Returns the line with which the worker answers. */
export function renderTreeAnswer(answer: TreeAnswer<TreeQuestion> | Failed, warnings: readonly string[]): string {
  const shortened = warnings.slice(0, MAX_WORKER_WARNINGS).map((warning) => warning.slice(0, MAX_WORKER_WORDS_CHARS));
  return `${JSON.stringify({ ...answer, warnings: shortened })}\n`;
}

/** Parses an answer to a question of that kind, which the agent may have forged; null if it is invalid. */
export function parseTreeAnswer<K extends TreeQuestion>(kind: K, line: string): ReadAnswer<K> | null {
  const value = tryJson(line);
  const aside = asides.safeParse(value);
  const answer = z.union([answers[kind], failed]).safeParse(value);
  return aside.success && answer.success
    ? { answer: answer.data as TreeAnswer<K> | Failed, warnings: aside.data.warnings }
    : null;
}

/**
 * Returns why the file is not in the tree, as the end of a sentence that begins with its path. GitHub accepts no file
 * of more than 100 MiB.
 */
export function explainSubstitute(substitute: Substitute): string {
  switch (substitute.is) {
    case 'repository':
      return 'it is a git repository of its own';
    case 'unreadable':
      return 'it cannot be read';
    case 'refused':
      return 'git rejects it: its name or its encoding is not what git or .gitattributes requires';
    case 'too-large':
      return `it is larger than the 100 MiB that GitHub accepts (${Math.ceil(substitute.bytes / 2 ** 20)} MiB)`;
  }
}

/** Returns the name of the work for people and the agent. The agent chose the name. */
export function nameOfBeside({ is, name }: BesideWork): string {
  const shown = toOneLine(name, MAX_NAME_CHARS - 40);
  const names = {
    branch: `branch ${shown}`,
    ref: shown,
    stash: shown,
    head: `commit ${shown} on no branch`,
    'work-tree': `work tree ${shown}`,
    submodule: `files of submodule ${shown}`,
  } as const;
  return names[is];
}

/** Returns the items that are new or changed. */
export function findNewBesideWork(before: readonly BesideWork[], now: readonly BesideWork[]): readonly BesideWork[] {
  // The number of a stash changes when a newer one is made, so it is not a part of its identity.
  const identityOf = ({ is, name, id }: BesideWork): string => `${is} ${is === 'stash' ? '' : name} ${id}`;
  const known = new Set(before.map(identityOf));
  return now.filter((item) => !known.has(identityOf(item)));
}
