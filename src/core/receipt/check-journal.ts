import { checkChain, type Journal, parseJournal } from '../journal/parse-journal.ts';
import { callsOf, type JournalEntry } from '../journal/journal.ts';
import { type KindsOfDenial, replayChanged, replayDecisions } from '../journal/replay.ts';
import { allowedCalls, type Policy } from '../policy.ts';
import { MAX_TASKS_OF_RUN } from '../snapshot/stored-run.ts';
import { progressOf } from '../tasks/queue.ts';
import { shownState } from '../tasks/task.ts';
import type { RunReceipt } from './receipt.ts';

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
interface CheckedJournal {
  readonly journal: Journal | null;
  readonly findings: readonly ReceiptFinding[];
}

/** Tolerance in US dollars for each sum, because sums of rounded numbers differ. */
const ROUNDING_USD = 1e-4;

/** Checks a receipt against its own journal: the chain, every decision, the texts that people agreed to, the limits. */
export function checkJournal(receipt: RunReceipt, { sha256, kindsOf }: ReceiptTools): CheckedJournal {
  const { runId, journal: text, journalHash } = receipt;
  const isWrong = createFindings(runId, 'journal', 'bad');
  const isUnchecked = createFindings(runId, 'journal', 'unchecked');
  const without = (findings: readonly ReceiptFinding[]): CheckedJournal => {
    const others = (['record', 'texts', 'limits', 'content'] as const).map((part) =>
      createFindings(runId, part, 'unchecked'),
    );
    const because = others.flatMap((isLeftOut) => isLeftOut(true, 'Not checked without its journal.'));
    return { journal: null, findings: [...findings, ...because] };
  };
  if (text === null) {
    const compare = journalHash === null ? '' : ` \`ralph replay\` of a copy must print the hash ${journalHash}.`;
    return without(isUnchecked(true, `Its journal is not kept.${compare}`));
  }
  const chain = checkChain(text, sha256);
  if (chain.kind === 'broken')
    return without(isWrong(true, `Line ${chain.line} of its journal does not carry the hash of the line before.`));
  if (journalHash !== null && chain.last !== journalHash)
    return without(isWrong(true, `Its journal does not end with the line that the record names (${journalHash}).`));
  const parsed = parseJournal(text);
  if (parsed.kind === 'unusable') {
    const [{ line, why } = { line: 1, why: 'it is empty' }] = parsed.problems;
    return without(isWrong(true, `Its journal cannot be read: line ${line}: ${why}.`));
  }
  const { journal } = parsed;
  const [wrong, ...more] = replayDecisions(journal, kindsOf);
  const findings = [
    ...isUnchecked(
      chain.kind === 'unchained' || journalHash === null,
      'An earlier version wrote its journal without hashes, or without the last.',
    ),
    ...isWrong(
      wrong !== undefined,
      `${1 + more.length} of its decisions do not follow from its journal; the first is \`${wrong?.of ?? ''}\` on line ${wrong?.line ?? 0}.`,
    ),
    ...recordFindings(receipt, journal),
    ...taskFindings(receipt, journal, kindsOf),
    ...textFindings(receipt, journal),
    ...limitFindings(receipt, journal),
  ];
  return { journal, findings };
}

/** Creates a function that returns a finding if its condition is true, and an empty list otherwise. */
export function createFindings(
  run: string | null,
  part: ReceiptFinding['part'],
  kind: ReceiptFinding['kind'],
): (condition: boolean, text: string) => readonly ReceiptFinding[] {
  return (condition, text) => (condition ? [{ part, kind, run, text }] : []);
}

/** Compares what the record says of the run with what its journal says. */
function recordFindings(receipt: RunReceipt, journal: Journal): readonly ReceiptFinding[] {
  const { runId, lane, iterations, calls, costUsd, headVerification: head, outcome } = receipt;
  const { start, entries, end } = journal;
  const isWrong = createFindings(runId, 'record', 'bad');
  const sum = (of: (entry: JournalEntry) => number): number => entries.reduce((total, entry) => total + of(entry), 0);
  const cost = sum(priceOfEntry);
  const results = [
    start.state.headVerification,
    ...journal.verifications.map(({ verification }) => verification.check),
  ];
  const newest = results.findLast((result) => result?.commit === head?.commit) ?? results.at(-1);
  const isOtherResult = head !== null && newest?.kind !== head.result;
  const isComplete = outcome.kind !== 'complete' || end?.outcome.kind === 'complete';
  return [
    ...isWrong(start.lane !== lane, `Its journal is about ${start.lane}, its record about ${lane}.`),
    ...isWrong(
      entries.length !== iterations,
      `Its record says ${iterations} iterations, its journal has ${entries.length}.`,
    ),
    // A call that never returned is only in the record.
    ...isWrong(sum(callsOf) > calls, `Its journal has more calls than the ${calls} of its record.`),
    ...isWrong(
      cost > costUsd + ROUNDING_USD,
      `Its record says $${costUsd}, the iterations of its journal cost $${cost.toFixed(4)}.`,
    ),
    ...isWrong(isOtherResult, `Its record says that \`verify\` ${head?.result ?? ''}, its journal does not.`),
    ...isWrong(!isComplete, 'Its record says that it is complete, its journal does not.'),
    ...createFindings(runId, 'record', 'note')(end === null, 'Its journal has no end: it was killed, or failed.'),
  ];
}

/** Compares the tasks of the record with those that the journal worked on, and with what became of them. */
function taskFindings(
  { runId, tasks }: RunReceipt,
  journal: Journal,
  kindsOf: KindsOfDenial,
): readonly ReceiptFinding[] {
  const isWrong = createFindings(runId, 'record', 'bad');
  // The end of a complete run makes its prompt done.
  const isComplete = journal.end?.outcome.kind === 'complete';
  const { state } = replayChanged(journal, (policy) => policy, kindsOf);
  const recorded = new Set(tasks.map(({ id }) => id));
  const worked = [...new Set(journal.entries.map(({ taskId }) => taskId.slice(0, 200)))];
  const missing = tasks.length < MAX_TASKS_OF_RUN ? worked.filter((id) => !recorded.has(id)) : [];
  return [
    ...missing.flatMap((id) => isWrong(true, `Its record does not name ${id}, on which it worked.`)),
    ...tasks.flatMap((task) =>
      isWrong(
        task.state === 'done' && !isComplete && shownState(progressOf(state.tasks, task.id)) !== 'done',
        `Its record says that ${task.id} is done, its journal does not.`,
      ),
    ),
  ];
}

/** Compares who agreed to which text, as recorded, with what the run knew before its first call. */
function textFindings({ runId, tasks }: RunReceipt, { start }: Journal): readonly ReceiptFinding[] {
  return tasks.flatMap(({ id, askedBy, textHash }) => {
    const known = progressOf(start.state.tasks, id).approval ?? null;
    const isSame = known !== null && known.text === textHash && known.by === askedBy;
    if (textHash === null)
      return createFindings(runId, 'texts', 'unchecked')(known !== null, `Its record names no text for ${id}.`);
    const why = `Its record and its journal name different texts or people for ${id}.`;
    return createFindings(runId, 'texts', 'bad')(!isSame, why);
  });
}

/** Checks that the run stayed within the limits that it began with. The journal's decisions are replayed elsewhere. */
function limitFindings(
  { runId, calls, costUsd }: RunReceipt,
  { start, entries, waits }: Journal,
): readonly ReceiptFinding[] {
  const isWrong = createFindings(runId, 'limits', 'bad');
  const policies: readonly Policy[] = [start.policy, ...waits.map(({ wait }) => ({ ...start.policy, ...wait }))];
  const most = Math.max(...policies.map(({ maxIterations }) => maxIterations));
  const allowed = Math.max(...policies.map(allowedCalls));
  const repeated = entries.filter(({ madeAgain }) => madeAgain !== null).length;
  const limit = Math.max(...policies.map(({ maxCostUsd }) => (maxCostUsd === 0 ? Infinity : maxCostUsd)));
  const before = entries.slice(0, -1).reduce((total, entry) => total + priceOfEntry(entry), 0);
  const isPassed = before >= limit + ROUNDING_USD;
  return [
    ...isWrong(entries.length > most, `It made more than the ${most} iterations allowed.`),
    ...isWrong(calls > allowed + repeated, `It made ${calls} calls, and ${allowed} were allowed.`),
    ...isWrong(isPassed, `It continued after its limit of $${limit} was reached.`),
    ...createFindings(
      runId,
      'limits',
      'note',
    )(
      !isPassed && costUsd > limit + ROUNDING_USD,
      `Its last call took it to $${costUsd}, over its limit of $${limit}.`,
    ),
  ];
}

function priceOfEntry({ analysis }: JournalEntry): number {
  return analysis.costUsd ?? 0;
}
