import { checkChain, type Journal, parseJournal } from '../journal/parse-journal.ts';
import { callsOf, type JournalEntry } from '../journal/journal.ts';
import { type KindsOfDenial, replayDecisions } from '../journal/replay.ts';
import { allowedCalls, type Policy } from '../policy.ts';
import { progressOf } from '../tasks/queue.ts';
import type { RunReceipt } from './receipt.ts';

/** The parts of a receipt that are checked. */
export const receiptParts = ['record', 'journal', 'texts', 'limits', 'commits', 'content'] as const;

/**
 * A result of a check. `bad`: something contradicts the receipt. `unchecked`: a part could not be checked. `note`: a
 * fact that a reviewer should know.
 */
export interface ReceiptFinding {
  readonly part: (typeof receiptParts)[number];
  readonly kind: 'bad' | 'unchecked' | 'note';
  /** The run that it is about; null if it is about the branch. */
  readonly run: string | null;
  /** A sentence without a name of the run. */
  readonly text: string;
}

/** Functions that the checks need from outside. */
export interface ReceiptTools {
  /** Returns the SHA-256 of a text in hex digits. */
  readonly sha256: (text: string) => string;
  readonly kindsOf: KindsOfDenial;
}

/** The journal of a receipt, if it is whole and readable, and what is wrong with it. */
export interface CheckedJournal {
  readonly journal: Journal | null;
  readonly findings: readonly ReceiptFinding[];
}

/** Tolerance in US dollars for each sum, because sums of rounded numbers differ. */
const ROUNDING_USD = 1e-4;

/** Checks a receipt against its own journal: the chain, every decision, the texts that people agreed to, the limits. */
export function checkJournal(receipt: RunReceipt, { sha256, kindsOf }: ReceiptTools): CheckedJournal {
  const { journal: text, journalHash } = receipt;
  const finding = createFindings(receipt.run.id);
  if (text === null) {
    const compare = journalHash === null ? '' : ` \`ralph replay\` of a copy must print the hash ${journalHash}.`;
    const why = `Its journal is not kept, so neither its decisions nor its limits and texts are checked.${compare}`;
    return { journal: null, findings: [finding('journal', 'unchecked', why)] };
  }
  const chain = checkChain(text, sha256);
  if (chain.kind === 'broken')
    return broken(finding, `Line ${chain.line} of its journal does not carry the hash of the line before.`);
  if (journalHash !== null && chain.last !== journalHash)
    return broken(finding, `Its journal does not end with the line that the record names (${journalHash}).`);
  const parsed = parseJournal(text);
  if (parsed.kind === 'unusable') {
    const [{ line, why } = { line: 1, why: 'it is empty' }] = parsed.problems;
    return broken(finding, `Its journal cannot be read: line ${line}: ${why}.`);
  }
  const { journal } = parsed;
  const unchained =
    chain.kind === 'unchained' || journalHash === null
      ? [finding('journal', 'unchecked', 'An earlier version wrote its journal without hashes, or without the last.')]
      : [];
  const [difference, ...more] = replayDecisions(journal, kindsOf);
  const replayed =
    difference === undefined
      ? []
      : [
          finding(
            'journal',
            'bad',
            `${1 + more.length} of its decisions do not follow from its journal; the first is \`${difference.of}\` on line ${difference.line}.`,
          ),
        ];
  return {
    journal,
    findings: [
      ...unchained,
      ...replayed,
      ...recordFindings(receipt, journal),
      ...textFindings(receipt, journal),
      ...limitFindings(receipt, journal),
    ],
  };
}

/** Creates a function that makes findings about a run. */
export function createFindings(
  run: string | null,
): (part: ReceiptFinding['part'], kind: ReceiptFinding['kind'], text: string) => ReceiptFinding {
  return (part, kind, text) => ({ part, kind, run, text });
}

function broken(finding: ReturnType<typeof createFindings>, text: string): CheckedJournal {
  return { journal: null, findings: [finding('journal', 'bad', text)] };
}

/** Compares what the record says of the run with what its journal says. */
function recordFindings({ run, branch, used, verifications }: RunReceipt, journal: Journal): readonly ReceiptFinding[] {
  const { start, entries, end } = journal;
  const finding = createFindings(run.id);
  const bad = (text: string): ReceiptFinding => finding('record', 'bad', text);
  const sum = (of: (entry: JournalEntry) => number): number => entries.reduce((total, entry) => total + of(entry), 0);
  const cost = sum(priceOfEntry);
  const { head } = verifications;
  const newest = journal.verifications.findLast(({ verification }) => verification.check.commit === head?.commit);
  return [
    ...(start.lane === branch.of ? [] : [bad(`Its journal is about ${start.lane}, its record about ${branch.of}.`)]),
    ...(entries.length === used.iterations
      ? []
      : [bad(`Its record says ${used.iterations} iterations, its journal has ${entries.length}.`)]),
    // A call that never returned is only in the record.
    ...(sum(callsOf) <= used.calls ? [] : [bad(`Its journal has more calls than the ${used.calls} of its record.`)]),
    ...(cost <= used.costUsd + ROUNDING_USD
      ? []
      : [bad(`Its record says $${used.costUsd}, the iterations of its journal cost $${cost.toFixed(4)}.`)]),
    ...(newest === undefined || newest.verification.check.kind === head?.result
      ? []
      : [bad(`Its record says that \`verify\` ${String(head?.result)}, its journal that it did not.`)]),
    ...(run.outcome.kind === 'complete' && end?.outcome.kind !== 'complete'
      ? [bad('Its record says that it is complete, its journal does not.')]
      : []),
    ...(end === null ? [finding('record', 'note', 'Its journal has no end: it was killed, or failed.')] : []),
  ];
}

/** Compares who agreed to which text, as recorded, with what the run knew before its first call. */
function textFindings({ run, tasks }: RunReceipt, { start }: Journal): readonly ReceiptFinding[] {
  const finding = createFindings(run.id);
  return tasks.flatMap(({ id, askedBy, textHash }) => {
    const known = progressOf(start.state.tasks, id).approval ?? null;
    if (textHash === null && known === null) return [];
    if (textHash === null) return [finding('texts', 'unchecked', `Its record names no text for ${id}.`)];
    return known?.text === textHash && known.by === askedBy
      ? []
      : [finding('texts', 'bad', `Its record and its journal name different texts or people for ${id}.`)];
  });
}

/** Checks that the run stayed within the limits that it began with. The journal's decisions are replayed elsewhere. */
function limitFindings({ run, used }: RunReceipt, { start, entries, waits }: Journal): readonly ReceiptFinding[] {
  const finding = createFindings(run.id);
  const policies: readonly Policy[] = [start.policy, ...waits.map(({ wait }) => ({ ...start.policy, ...wait }))];
  const most = Math.max(...policies.map(({ maxIterations }) => maxIterations));
  const calls = Math.max(...policies.map(allowedCalls));
  const repeated = entries.filter(({ madeAgain }) => madeAgain !== null).length;
  const limit = policies.some(({ maxCostUsd }) => maxCostUsd === 0)
    ? Infinity
    : Math.max(...policies.map(({ maxCostUsd }) => maxCostUsd));
  const before = entries.slice(0, -1).reduce((total, entry) => total + priceOfEntry(entry), 0);
  return [
    ...(entries.length > most ? [finding('limits', 'bad', `It made more than the ${most} iterations allowed.`)] : []),
    ...(used.calls > calls + repeated
      ? [finding('limits', 'bad', `It made ${used.calls} calls, and ${calls} were allowed.`)]
      : []),
    ...(before >= limit + ROUNDING_USD
      ? [finding('limits', 'bad', `It continued after its limit of $${limit} was reached.`)]
      : used.costUsd > limit + ROUNDING_USD
        ? [finding('limits', 'note', `Its last call took it to $${used.costUsd}, over its limit of $${limit}.`)]
        : []),
  ];
}

function priceOfEntry({ analysis }: JournalEntry): number {
  return analysis.costUsd ?? 0;
}
