import { checkChain } from '../journal/chain.ts';
import { type Journal, parseJournal } from '../journal/parse-journal.ts';
import { countEntryCalls, countUnpriced, type JournalEntry } from '../journal/journal.ts';
import { type KindsOfDenial, replayChanged, replayDecisions } from '../journal/replay.ts';
import { countMaxCalls, type Policy } from '../policy.ts';
import { MAX_TASKS_OF_RUN } from '../snapshot/stored-run.ts';
import { getProgress } from '../tasks/queue.ts';
import { computeShownState } from '../tasks/task.ts';
import { toOneLine } from '../text/phrase.ts';
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

/** Tolerance for each sum, because sums of rounded numbers of dollars differ. */
const ROUNDING = 1e-4;

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

/** Compares the facts that are in both the record and the journal. */
function recordFindings(receipt: RunReceipt, journal: Journal): readonly ReceiptFinding[] {
  const { runId, branchId, branch, startedAt, endedAt, outcome, iterations, headVerification: head } = receipt;
  const { start, entries, end } = journal;
  const [isWrong, isNoted] = [createFindings(runId, 'record', 'bad'), createFindings(runId, 'record', 'note')];
  const used = {
    calls: sumOverEntries(entries, countEntryCalls),
    tokens: sumOverEntries(entries, ({ analysis }) => analysis.tokens ?? 0),
    costUsd: sumOverEntries(entries, priceOfEntry),
    unpriced: countUnpriced(entries),
  };
  // A call that never returned appears only in the record, so sums are compared only if the numbers of calls are equal.
  const isWhole = used.calls === receipt.calls;
  const results = [
    start.state.headVerification,
    ...journal.events.flatMap(({ event }) => (event.kind === 'check' ? [event.check] : [])),
  ];
  // GitHub recreates commits to sign them, with other ids, so the last result is used if none is for the head.
  const ofHead = results.findLast((result) => result?.commit === head?.commit) ?? results.at(-1);
  const [said, known] = [outcome, end?.outcome].map((one) => `${one?.kind ?? 'none'} (${one?.reason ?? ''})`);
  // Only the record has what happened after the end of the loop: a kill, a failure, an order, a person's push, or a
  // refusal by the server.
  const isOnlyInRecord =
    /^(?:failed|cancelled|paused)$/.test(outcome.kind) ||
    (end === null && outcome.kind !== 'complete') ||
    (end?.outcome.kind === 'complete' && /^(?:blocked |limit \((?:unverified|minutes)\))/.test(said ?? ''));
  const facts: readonly (readonly [what: string, said: unknown, known: unknown])[] = [
    ['branch', branchId, start.lane],
    ['branch', branch, branch?.endsWith(start.lane) === false ? start.lane : branch],
    ['beginning', startedAt, start.startedAt],
    ['end', endedAt, Math.max(endedAt, end?.decidedAt ?? 0)],
    ['outcome', said, isOnlyInRecord ? said : known],
    ['result of `verify`', head?.result, head === null ? undefined : ofHead?.kind],
    ['number of iterations', iterations, entries.length],
    ...(['calls', 'tokens', 'costUsd', 'unpriced'] as const).map((name) => {
      const inRecord = receipt[name] ?? used[name];
      const isSame = inRecord >= used[name] - ROUNDING && (!isWhole || inRecord <= used[name] + ROUNDING);
      return [`sum of \`${name}\``, inRecord, isSame ? inRecord : Math.round(used[name] * 1e6) / 1e6] as const;
    }),
  ];
  return [
    ...facts.flatMap(([what, inRecord, known]) =>
      isWrong(
        inRecord !== known,
        `Its ${what} is ${String(inRecord)} in its record, and ${String(known)} in its journal.`,
      ),
    ),
    ...isNoted(end === null, 'Its journal has no end: it was killed, or failed.'),
    ...isNoted(
      isOnlyInRecord && end !== null && said !== known,
      `Its journal ends with ${known ?? ''}; only its record says what followed: ${said ?? ''}.`,
    ),
  ];
}

/** Compares the tasks of the record, and their states, with those that the journal worked on. */
function taskFindings(
  { runId, tasks }: RunReceipt,
  journal: Journal,
  kindsOf: KindsOfDenial,
): readonly ReceiptFinding[] {
  const isWrong = createFindings(runId, 'record', 'bad');
  // The end of a complete run also completes its prompt, which no iteration does.
  const isComplete = journal.end?.outcome.kind === 'complete';
  const { state } = replayChanged(journal, (policy) => policy, kindsOf);
  const titles = Map.groupBy(journal.entries, ({ taskId }) => taskId.slice(0, 200));
  const missing = [...titles.keys()].filter((id) => tasks.every((task) => task.id !== id));
  return [
    ...(tasks.length < MAX_TASKS_OF_RUN ? missing : []).flatMap((id) =>
      isWrong(true, `Its record does not name ${id}, on which it worked.`),
    ),
    ...tasks.flatMap(({ id, title, state: said }) => [
      ...isWrong(!titles.has(id), `Its record names ${id}, on which it did not work.`),
      ...isWrong(
        said === 'done' && !isComplete && computeShownState(getProgress(state.tasks, id)) !== 'done',
        `Its record says that ${id} is done, its journal does not.`,
      ),
      ...isWrong(
        titles.get(id)?.every(({ taskTitle }) => toOneLine(taskTitle, 200) !== title) === true,
        `Its record and its journal name ${id} differently.`,
      ),
    ]),
  ];
}

/** Compares the recorded approvals, by person and text, with those that the run knew before its first call. */
function textFindings({ runId, tasks }: RunReceipt, { start }: Journal): readonly ReceiptFinding[] {
  return tasks.flatMap(({ id, askedBy, askedAt, textHash }) => {
    const known = getProgress(start.state.tasks, id).approval ?? null;
    const isSame = known !== null && known.text === textHash && known.by === askedBy && known.at === askedAt;
    if (textHash === null)
      return createFindings(runId, 'texts', 'unchecked')(known !== null, `Its record names no text for ${id}.`);
    const why = `Its record and its journal name different texts or people for ${id}.`;
    return createFindings(runId, 'texts', 'bad')(!isSame, why);
  });
}

/** Checks that the run stayed within the limits that it began with. `checkJournal` replays the decisions. */
function limitFindings(
  { runId, calls, costUsd }: RunReceipt,
  { start, entries, events }: Journal,
): readonly ReceiptFinding[] {
  const [isWrong, isNoted] = [createFindings(runId, 'limits', 'bad'), createFindings(runId, 'limits', 'note')];
  const waits = events.flatMap(({ event }) => (event.kind === 'wait' ? [event] : []));
  const policies: readonly Policy[] = [start.policy, ...waits.map((wait) => ({ ...start.policy, ...wait }))];
  const most = Math.max(...policies.map(({ maxIterations }) => maxIterations));
  const allowed = Math.max(...policies.map(countMaxCalls));
  const repeated = entries.filter(({ madeAgain }) => madeAgain !== null).length;
  const limit = Math.max(...policies.map(({ maxCostUsd }) => (maxCostUsd === 0 ? Infinity : maxCostUsd)));
  const before = sumOverEntries(entries.slice(0, -1), priceOfEntry);
  const isPassed = before >= limit + ROUNDING;
  return [
    ...isWrong(entries.length > most, `It made more than the ${most} iterations allowed.`),
    ...isWrong(calls > allowed + repeated, `It made ${calls} calls, and ${allowed} were allowed.`),
    ...isWrong(isPassed, `It continued after its limit of $${limit} was reached.`),
    ...isNoted(
      !isPassed && costUsd > limit + ROUNDING,
      `Its last call took it to $${costUsd}, over its limit of $${limit}.`,
    ),
  ];
}

function sumOverEntries(entries: readonly JournalEntry[], of: (entry: JournalEntry) => number): number {
  return entries.reduce((total, entry) => total + of(entry), 0);
}

function priceOfEntry({ analysis }: JournalEntry): number {
  return analysis.costUsd ?? 0;
}
