import { z } from 'zod';
import { verificationSchema } from '../core/evidence.ts';
import type { Feedback } from '../core/feedback/memory.ts';
import { isFeedback } from '../core/feedback/subject.ts';
import { isolationFacts } from '../core/isolation/probe.ts';
import { cutFacts } from '../core/isolation/texts.ts';
import { parseJournalLine, serializeEntry, type JournalEntry } from '../core/journal/journal.ts';
import { type LaneState, parseStateAt } from '../core/lane/state/state.ts';
import { serializeState } from '../core/lane/state/serialize-state.ts';
import { outcomeSchema, type Outcome } from '../core/outcome.ts';
import { anyInstant, countSchema, type Policy } from '../core/policy.ts';
import { MAX_PROPOSAL_CHARS } from '../core/proposal/proposal.ts';
import { measureSpent } from '../core/sharing/budget.ts';
import { limitPark, mergeReceivedState, withReservationUsed } from '../core/sharing/trusted-state.ts';
import { endsOpenEnded } from '../core/open-ended/prompt-task.ts';
import { isFileSource, isIssueTask, isPromptTask, storedTaskId, type TaskId } from '../core/tasks/ids.ts';
import { isPlanComplete, getProgress } from '../core/tasks/queue.ts';
import { isFinished, queuedTaskSchema, type Task } from '../core/tasks/task.ts';
import { toOneLine } from '../core/text/phrase.ts';
import { tryJson } from '../core/text/try-json.ts';
import { type HandedFile, handedFileSchema, type HandedIntake, beginWork, type Work } from './intake.ts';

/** Maximum length of a sentence from another job, in characters. */
const MAX_SENTENCE_CHARS = 1000;
/** Tolerance in US dollars, because sums of floating-point numbers depend on their order. */
const ROUNDING_USD = 1e-6;
/**
 * Maximum number of entries of each list in the hand-over; high enough that a run is not lost because it left out many
 * files or gave many warnings.
 */
const MAX_ENTRIES = 1000;
const MAX_WARNINGS = 100;
const MAX_PATH_CHARS = 4096;

const objectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
const words = z.string().transform((text) => toOneLine(text, MAX_SENTENCE_CHARS));

/** Tasks of files that the agent has added. Only the gate can admit an issue. */
const foundTaskSchema = queuedTaskSchema.unwrap().extend({
  id: storedTaskId,
  title: words,
  source: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('plan'), path: z.string().max(MAX_PATH_CHARS), line: countSchema }),
    // Omit the issue number, because an entry that an agent wrote must not close an issue.
    z.object({
      kind: z.literal('prd'),
      path: z.string().max(MAX_PATH_CHARS),
      key: words,
      issue: z.null().default(null),
    }),
    z.object({ kind: z.literal('beads'), path: z.string().max(MAX_PATH_CHARS), key: words }),
  ]),
});

const workSchema = z.object({
  /** The serialized LaneState. */
  state: z.string(),
  found: z.array(foundTaskSchema).max(MAX_ENTRIES),
  /** Lines of the journal. */
  journal: z.array(z.string()).max(MAX_ENTRIES),
  headVerification: z.object({ commit: objectId, after: countSchema, verification: verificationSchema }).nullable(),
  head: objectId,
  withheld: z.array(z.object({ path: z.string().max(MAX_PATH_CHARS), why: words })).max(MAX_ENTRIES),
  warnings: z.array(words).max(MAX_WARNINGS),
  /** The isolation facts; the loop of an earlier version hands over none. */
  isolation: isolationFacts.nullable().default(null),
  agent: z.object({ name: words, version: words }),
  startedAt: anyInstant,
  endedAt: anyInstant,
  outcome: outcomeSchema,
  /** The agent's final message in a run that proposes sub-tasks, otherwise null. */
  proposal: z.string().max(MAX_PROPOSAL_CHARS).nullable().default(null),
});

const common = {
  version: z.literal(1),
  /** Hash of the gate's parcel that the job of the loop was given. */
  of: z.string(),
};

const parcelSchema = z.discriminatedUnion('kind', [
  z.object({
    ...common,
    kind: z.literal('work'),
    work: workSchema,
    /** The bundle of the commits, or null if none. */
    commits: handedFileSchema.nullable(),
    session: handedFileSchema.nullable(),
  }),
  z.object({
    ...common,
    kind: z.literal('failed'),
    reason: z.enum(['configuration', 'infrastructure']),
    message: z.string(),
  }),
]);

type WorkParcel = Extract<z.infer<typeof parcelSchema>, { readonly kind: 'work' }>;

/**
 * The trusted part of the hand-over from the loop's job. `commits` is the bundle of the work's commits, if there are
 * any.
 */
export type ReceivedWork =
  | {
      readonly kind: 'work';
      readonly work: Work;
      /** Answers according to the loop's job, to be checked against its commits. */
      readonly answers: Feedback;
      readonly commits: HandedFile | null;
      readonly session: HandedFile | null;
    }
  /** The loop's job ended before a call, or never began. */
  | { readonly kind: 'failed'; readonly outcome: Extract<Outcome, { kind: 'failed' | 'cancelled' }> }
  /** The hand-over cannot be used; `why` is a sentence. */
  | { readonly kind: 'unusable'; readonly why: string };

/** Returns the text of a parcel, for the job that publishes the work. */
export function serializeWork(
  { state, tasks, journal, head, withheld, warnings, isolation, agent, startedAt, endedAt, outcome, ...work }: Work,
  handed: {
    readonly intake: HandedIntake;
    readonly of: string;
    readonly commits: HandedFile | null;
    readonly session: HandedFile | null;
  },
): string {
  const admitted = new Set(handed.intake.intake.tasks.map(({ id }) => id));
  const parcel = {
    version: 1,
    kind: 'work',
    of: handed.of,
    commits: handed.commits,
    session: handed.session,
    work: {
      state: serializeState(state),
      found: tasks.filter(({ id, source }) => !admitted.has(id) && isFileSource(source.kind)).slice(0, MAX_ENTRIES),
      journal: journal.map(serializeEntry),
      headVerification: work.cleanVerification,
      head,
      withheld: withheld.slice(0, MAX_ENTRIES),
      warnings: warnings.slice(0, MAX_WARNINGS),
      isolation: isolation === null ? null : cutFacts(isolation),
      agent,
      startedAt,
      endedAt,
      outcome,
      proposal: work.proposal?.words ?? null,
    },
  };
  return JSON.stringify(parcel);
}

/** Returns the text of a parcel of a loop that failed before a call. */
export function serializeFailure({ reason, message }: Extract<Outcome, { kind: 'failed' }>, of: string): string {
  return JSON.stringify({ version: 1, kind: 'failed', of, reason, message });
}

/**
 * Parses the hand-over of the loop's job, which is untrusted because an agent ran there, and checks it against the
 * gate's hand-over. `text` is null if nothing was handed over.
 */
export function receiveWork(
  text: string | null,
  { handed, of, now }: { readonly handed: HandedIntake; readonly of: string; readonly now: number },
): ReceivedWork {
  if (text === null) return unusable('It ended without handing over its work.');
  const parsed = parcelSchema.safeParse(tryJson(text));
  if (!parsed.success)
    return unusable(`What it handed over is not readable (${parsed.error.issues[0]?.path.join('.') || 'no parcel'}).`);
  const parcel = parsed.data;
  if (parcel.of !== of) return unusable('What it handed over belongs to another run.');
  if (parcel.kind === 'failed') {
    const { reason, message } = parcel;
    return { kind: 'failed', outcome: { kind: 'failed', reason, message: reportedBy(message) } };
  }
  return receive(parcel, handed, now);
}

function receive({ work, commits, session }: WorkParcel, handed: HandedIntake, now: number): ReceivedWork {
  const { intake } = handed;
  const { lane, opened, policy } = intake;
  const state = parseStateAt(work.state, lane.id, now);
  if (state.kind !== 'state') return unusable('The state that it handed over is not readable.');
  const found: readonly Task[] = work.found
    .filter(({ id }) => !isIssueTask(id) && !isPromptTask(id) && !isFeedback(id))
    .map((task) => ({ ...task, body: '', comments: [] }));
  const tasks = [...intake.tasks, ...found.filter(({ id }) => intake.tasks.every((known) => known.id !== id))];
  const ids = tasks.map(({ id }) => id);
  const journal = parseJournalEntries(work.journal);
  if (journal === null || !journal.every(({ taskId, lane: of }) => ids.includes(taskId) && of === lane.id))
    return unusable('Its journal does not belong to this run.');
  if (policy.maxIterations > 0 && journal.length > policy.maxIterations)
    return unusable(`Its journal has more than the ${String(policy.maxIterations)} iterations of this run.`);
  const admitted = { before: intake.state, tasks: ids, policy, base: opened.base };
  const received = mergeReceivedState(state.state, admitted, now);
  const outcome = possibleOutcome(work.outcome, { policy, isProposal: intake.proposes !== null }, now);
  if (outcome === null) return unusable('It reports an outcome that no loop can have.');
  if (outcome.kind === 'complete' && !isPlanComplete(tasks, received.tasks))
    return unusable('It claims that everything is done, but its state has unfinished tasks.');
  const spent = measureSpent(intake.state, received);
  const journaledUsd = journal.reduce((sum, { analysis }) => sum + (analysis.costUsd ?? 0), 0);
  if (spent.calls < journal.length || spent.costUsd < journaledUsd - ROUNDING_USD)
    return unusable('It counts less usage than its journal shows.');
  const unproven = ids.find((id) =>
    isDoneWithoutProof(id, { before: intake.state, after: received, journal, outcome }),
  );
  if (unproven !== undefined)
    return unusable(`It claims that ${unproven} is done, but none of its iterations finished it.`);
  const hasNewCommits = work.head !== opened.head;
  const { proposes } = intake;
  if (proposes !== null && (hasNewCommits || journal.length > 0))
    return unusable('It was asked for a proposal only, and hands over other work.');
  if (hasNewCommits !== (commits !== null))
    return unusable('Its commits are missing, or it handed over commits that it does not report.');
  const startedAt = within(work.startedAt, { from: intake.claimedAt, to: now });
  return {
    kind: 'work',
    answers: state.state.feedback,
    commits,
    session,
    work: {
      ...beginWork(intake, handed, now),
      tasks,
      proposal: proposes === null ? null : { text: proposes, words: work.proposal },
      state: received,
      journal,
      cleanVerification: work.headVerification,
      head: work.head,
      hasNewCommits,
      withheld: work.withheld,
      warnings: work.warnings.map((warning) => `From the job of the loop: ${warning}`),
      isolation: work.isolation,
      agent: work.agent,
      startedAt,
      endedAt: within(work.endedAt, { from: startedAt, to: now }),
      outcome,
    },
  };
}

/**
 * Creates the work of a loop that handed over nothing usable: nothing in it is done. With `spent: 'reservation'`, the
 * run's whole reservation counts as used; with a state, the usage in that state.
 */
export function createLostWork(
  { intake, ...handed }: HandedIntake,
  {
    outcome,
    spent,
    now,
  }: { readonly outcome: Outcome; readonly spent: 'nothing' | 'reservation' | LaneState; readonly now: number },
): Work {
  const work = beginWork(intake, handed, now);
  const { state } = work;
  if (spent === 'nothing') return { ...work, outcome };
  if (spent === 'reservation') return { ...work, state: withReservationUsed(state, intake.policy, now), outcome };
  const { windows, ledger } = spent;
  return { ...work, state: { ...state, windows, ledger }, outcome };
}

/** Returns the reported outcome, with its sentences attributed to the loop, or null if no loop can end with it. */
function possibleOutcome(
  outcome: Outcome,
  { policy, isProposal }: { readonly policy: Policy; readonly isProposal: boolean },
  now: number,
): Outcome | null {
  // A run for a proposal works on no task, so it cannot end as complete.
  if (isProposal && outcome.kind === 'complete') return null;
  switch (outcome.kind) {
    case 'failed':
      return { ...outcome, message: reportedBy(outcome.message) };
    case 'parked':
      return limitPark(outcome, policy, now);
    case 'idle':
      return outcome.reason === 'no_tasks' ||
        outcome.reason === 'waiting_for_review' ||
        (isProposal && outcome.reason === 'answered')
        ? outcome
        : null;
    case 'paused':
    case 'refused':
      return null;
    default:
      return outcome;
  }
}

function reportedBy(message: string): string {
  return `The job of the loop reports: ${message.slice(0, 4 * MAX_SENTENCE_CHARS)}`;
}

/**
 * Returns true if a task is marked done without proof: no journal entry finished the issue and no verification of the
 * head confirmed it, or the run did not end by completing the prompt.
 */
function isDoneWithoutProof(
  id: TaskId,
  ended: {
    readonly before: LaneState;
    readonly after: LaneState;
    readonly journal: Work['journal'];
    readonly outcome: Outcome;
  },
): boolean {
  const { before, after, journal, outcome } = ended;
  const known = getProgress(before.tasks, id);
  const isNew = isFinished(getProgress(after.tasks, id)) && !isFinished(known);
  if (isNew && isPromptTask(id)) return !endsOpenEnded(outcome) || !claimsAllDone(journal.at(-1), id);
  if (!isNew || !isIssueTask(id) || known.unproven === true) return false;
  return !journal.some(({ taskId, verdict }) => taskId === id && verdict.taskDone);
}

/** Returns true if an iteration on the task claimed that everything is done, and no evidence contradicted it. */
function claimsAllDone(entry: JournalEntry | undefined, id: TaskId): boolean {
  if (entry?.taskId !== id) return false;
  const { analysis, evidence, verdict } = entry;
  return (
    (analysis.completionIndicator || evidence.doneMarker !== null) &&
    verdict.vetoes.length === 0 &&
    verdict.discrepancies.length === 0
  );
}

/** Parses the lines of the journal. Returns null if a line is not an iteration, or the numbers are not 1, 2, 3 … */
function parseJournalEntries(lines: readonly string[]): readonly JournalEntry[] | null {
  const entries = lines.flatMap((line) => {
    const parsed = parseJournalLine(line);
    return parsed.kind === 'iteration' ? [parsed.entry] : [];
  });
  const isWhole = entries.length === lines.length && entries.every(({ iteration }, at) => iteration === at + 1);
  return isWhole ? entries : null;
}

function within(instant: number, { from, to }: { readonly from: number; readonly to: number }): number {
  return Math.min(Math.max(instant, from), Math.max(from, to));
}

function unusable(why: string): ReceivedWork {
  return { kind: 'unusable', why };
}
