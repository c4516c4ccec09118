import type { JournalEntry } from '../journal/journal.ts';
import type { Journal } from '../journal/parse-journal.ts';
import { createFindings, type ReceiptFinding } from './check-journal.ts';
import type { RunReceipt } from './receipt.ts';

/** A commit in a clone. */
export interface CloneCommit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: string;
  /** Values of Ralph's trailers; null if the commit lacks them. */
  readonly run: string | null;
  readonly iteration: string | null;
  /** The paths that the commit changes; null for a merge. */
  readonly paths: readonly string[] | null;
  /** True if the commit carries a signature. */
  readonly isSigned: boolean;
}

/** A receipt with its journal; null if the journal could not be read. */
export interface ReadReceipt {
  readonly receipt: RunReceipt;
  readonly journal: Journal | null;
}

/** Checks that the commits that a journal names exist with the content that it records. */
export function checkReceiptContent(
  { receipt, journal }: ReadReceipt,
  own: readonly CloneCommit[],
): readonly ReceiptFinding[] {
  if (journal === null) return [];
  const { runId: run, outcome } = receipt;
  // Commits may be rewritten or missing if the server refused content or the run could not push its end, so missing
  // ones do not contradict the receipt.
  const mayLack = journal.events.some(({ event }) => event.kind === 'left-out') || outcome.kind === 'failed';
  const isMissing = createFindings(run, 'content', mayLack ? 'unchecked' : 'bad');
  return journal.entries.flatMap((entry) => {
    if (entry.commit === null) return [];
    const commits = own.filter((one) => one.run === run && one.iteration === String(entry.iteration));
    const last = own.find(({ id }) => id === entry.commit) ?? signedForm(commits);
    const named = `${shortenCommit(entry.commit)} of iteration ${entry.iteration}`;
    return [
      ...isMissing(last === null, `Its journal names the commit ${named}, which is not among its commits.`),
      ...(last === null ? [] : comparedFindings(entry, { run, last, commits, named })),
    ];
  });
}

/** Returns the last commit of an iteration if it is signed: GitHub recreates commits to sign them, with other ids. */
function signedForm(commits: readonly CloneCommit[]): CloneCommit | null {
  const last = commits.at(-1);
  return last?.isSigned === true ? last : null;
}

/**
 * Compares a commit with the tree in the journal, which lacks the loop's own files. If the trees differ, the changed
 * paths are compared; their content is proven only by the commit's id, which changes with signing.
 */
function comparedFindings(
  { commit, evidence }: JournalEntry,
  facts: {
    readonly run: string;
    readonly last: CloneCommit;
    readonly commits: readonly CloneCommit[];
    readonly named: string;
  },
): readonly ReceiptFinding[] {
  const { run, last, commits, named } = facts;
  const { after, files, fileCount, withheld } = evidence;
  if (last.tree === after.tree) return [];
  const isPartial = commits.some(({ paths }) => paths === null) || fileCount > files.length;
  const changed = new Set(commits.flatMap(({ paths }) => paths ?? []));
  const isOther = !isPartial && !files.every((path) => changed.has(path) || withheld.includes(path));
  const text = isOther
    ? `The commit ${named} does not change what its journal says.`
    : `The commit ${named} was recreated to be signed and contains Ralph's own files: ${isPartial ? 'its content is not' : 'only its paths are'} compared.`;
  return createFindings(run, 'content', isOther ? 'bad' : 'unchecked')(isOther || last.id !== commit, text);
}

/** Returns the beginning of a commit's id, for people. */
export function shortenCommit(id: string): string {
  return id.slice(0, 7);
}
