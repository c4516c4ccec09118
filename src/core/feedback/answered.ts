import type { JournalEntry } from '../journal/journal.ts';
import type { LaneState } from '../lane/state/state.ts';
import { LEFT_OUT_CLAUSES, type LeftOutReason, leftOutReasons } from '../review/left-out.ts';
import type { TaskId } from '../tasks/ids.ts';
import { getProgress, withChangedTasks } from '../tasks/queue.ts';
import { isFinished, isStuck, type Task } from '../tasks/task.ts';
import { capText, cutText } from '../text/phrase.ts';
import { type Feedback, type FeedbackItem, type FeedbackRound, MAX_ANSWER_CHARS, withoutLockFiles } from './memory.ts';
import {
  addRound,
  setAnswer,
  countBotRounds,
  type FeedbackMemory,
  findUnpostedCommit,
  recordWorkCommit,
} from './rounds.ts';
import { isFeedback } from './subject.ts';
import { isUnproven, withoutUnprovenAnswers } from './unproven.ts';

// Ralph's own answers are a closed set of sentence parts in which `backticks` mark code.

/**
 * An answer that Ralph gives without calling an agent. `made`: Ralph committed a change; `found`: nothing was left to
 * do; `refused`: the change must not be made.
 */
export interface OwnAnswer {
  readonly result: 'made' | 'found' | 'refused';
  readonly words: string;
}

/** The answer to a suggestion that was committed as written. */
export const SUGGESTION_APPLIED: OwnAnswer = { result: 'made', words: 'Applied as suggested' };

/** The answer to a suggestion that no longer changes anything. */
export const ALREADY_APPLIED: OwnAnswer = { result: 'found', words: 'The file already has this text' };

/** The answer to a merge in which only lock files conflicted and were regenerated. */
export const MERGED_WITHOUT_CALL: OwnAnswer = { result: 'made', words: 'Merged, with regenerated lock files' };
export const MERGED_BY_ITSELF: OwnAnswer = { result: 'made', words: 'Merged: no file had to be resolved by hand' };

type Answer = NonNullable<FeedbackItem['answer']>;

/** Records the answer that an iteration gave to its feedback task: changed, unchanged, or given up to a person. */
export function recordAnswer(
  state: LaneState,
  { taskId: id, commit: made, analysis, evidence: { lockFiles }, endedAt }: JournalEntry,
): LaneState {
  if (!isFeedback(id)) return state;
  const progress = getProgress(state.tasks, id);
  const commit = made ?? findUnpostedCommit(state.feedback, id);
  const { summary, asks, recommendation } = analysis.signal;
  const answer = (kind: Answer['kind'], words: string | null): LaneState => ({
    ...state,
    feedback: setAnswer(state.feedback, id, {
      kind,
      commit,
      words: words === null || words === '' ? null : cutText(words, MAX_ANSWER_CHARS),
      isOurs: false,
      ...(lockFiles === undefined ? {} : { lockFiles }),
      at: endedAt,
    }),
  });
  // A recommendation is about the next steps, so it counts as an answer only if a person must decide.
  if (isFinished(progress)) return answer(commit === null ? 'unchanged' : 'changed', summary);
  if (isStuck(progress) && progress.state !== 'stuck') return answer('given-up', asks ?? summary ?? recommendation);
  return made === null ? state : { ...state, feedback: recordWorkCommit(state.feedback, id, made) };
}

/**
 * Returns the kind and commit of one of Ralph's own answers. `made` is this run's commit for the task; `earlier` is the
 * commit of an earlier run whose answer is not posted.
 */
export function classifyAnswer(
  { result }: OwnAnswer,
  { made, earlier }: { readonly made: string | null; readonly earlier: string | null },
): Pick<Answer, 'kind' | 'commit'> {
  const commit = { made, found: earlier, refused: null }[result];
  return { kind: commit === null ? 'unchanged' : 'changed', commit };
}

/** Returns the state in which the loop itself has finished these tasks at `commit`. */
export function finishWithoutCall(state: LaneState, ids: readonly TaskId[], commit: string): LaneState {
  const finished = { state: 'finished', reason: null, setAside: null, doneCommit: commit } as const;
  return { ...state, tasks: withChangedTasks(state.tasks, ids, (before) => ({ ...before, ...finished })) };
}

/** A run on a pull request. */
interface ReviewedRun {
  readonly startedAt: number;
  /** The examined commit. */
  readonly head: string;
  /** All tasks of the run. */
  readonly tasks: readonly TaskId[];
  readonly checks: FeedbackRound['checks'];
}

/** Records the run as a round if it had feedback tasks or saw checks of a new head. Safe to repeat. */
export function recordRound(state: FeedbackMemory, { startedAt, head, tasks, checks }: ReviewedRun): Feedback {
  const { feedback } = state;
  const { items } = withoutUnprovenAnswers(state);
  const asked = tasks.filter(isFeedback);
  const answered = asked.filter((id) => Object.hasOwn(items, id) && (items[id]?.answer?.at ?? 0) >= startedAt);
  const earlier = feedback.rounds.filter(({ at }) => at !== startedAt);
  const isSeen = checks === null || earlier.at(-1)?.head === head || !hasRun(checks);
  if (asked.length === 0 && isSeen) return feedback;
  const round = { at: startedAt, head, asked: asked.length, answered: answered.length, checks };
  return addRound({ ...feedback, rounds: earlier }, round);
}

function hasRun({ passed, failed, running }: NonNullable<FeedbackRound['checks']>): boolean {
  return passed + failed + running > 0;
}

/** Facts about a loop in another job, none of which that job can forge. */
interface LoopElsewhere {
  readonly before: FeedbackMemory;
  readonly tasks: readonly Task[];
  /** The newest commit of each task. */
  readonly made: Readonly<Record<TaskId, string>>;
  readonly baseBranch: string;
  /** The latest possible instant of an answer. */
  readonly endedAt: number;
}

/**
 * Merges the feedback that a loop in another job sent into the gate's memory. Only its answers to its own tasks are
 * accepted.
 */
export function mergeReceivedFeedback(
  received: Feedback,
  { before, tasks, made, baseBranch, endedAt }: LoopElsewhere,
): Feedback {
  const items = Object.entries(before.feedback.items).map(([id, item]) => {
    const now = Object.hasOwn(received.items, id) ? received.items[id] : undefined;
    const task = tasks.find((one) => one.id === id);
    if (now === undefined || task === undefined) return [id, item] as const;
    const rounds = Math.min(Math.max(now.rounds, item.rounds), item.rounds + 1);
    const known = { ...item, rounds };
    if (item.answer !== null && !isUnproven(item, getProgress(before.tasks, id))) return [id, known] as const;
    const commits = {
      made: (Object.hasOwn(made, id) ? made[id] : undefined) ?? null,
      earlier: findUnpostedCommit(before.feedback, id),
    };
    if (now.answer === null || now.answer.at === item.answer?.at)
      return [id, withWorkCommit(known, commits.made)] as const;
    const own = ownAnswerIn(now.answer.words, task, baseBranch);
    const said = item.kind === 'conflict' ? now.answer : withoutLockFiles(now.answer);
    const at = Math.min(said.at, endedAt);
    const answer = { ...said, ...provenKindAndCommit(now.answer, own, commits), at, posted: false };
    return [id, { ...known, workedIn: undefined, answer }] as const;
  });
  const next = { ...before.feedback, items: Object.fromEntries(items) };
  const begun = items.flatMap(([id, { rounds }]) => (rounds > (before.feedback.items[id]?.rounds ?? 0) ? [id] : []));
  return countBotRounds(next, begun);
}

/**
 * Records a commit on an item without a new answer. The text of an answer whose change failed verification is dropped,
 * because it does not describe this commit.
 */
function withWorkCommit(item: FeedbackItem, made: string | null): FeedbackItem {
  if (made === null) return item;
  if (item.answer === null) return { ...item, workedIn: made };
  return { ...item, answer: { ...item.answer, commit: made, words: null, isOurs: false } };
}

/**
 * Derives the kind of an answer from its commits. The words are treated as words of the agent unless they are one of
 * Ralph's own answers and match the commits.
 */
function provenKindAndCommit(
  { kind }: Answer,
  own: OwnAnswer | null,
  commits: { readonly made: string | null; readonly earlier: string | null },
): Pick<Answer, 'kind' | 'commit' | 'isOurs'> {
  if (own !== null && (own.result === 'made') === (commits.made !== null))
    return { ...classifyAnswer(own, commits), isOurs: true };
  const commit = commits.made ?? commits.earlier;
  return { kind: kind === 'given-up' ? kind : commit === null ? 'unchanged' : 'changed', commit, isOurs: false };
}

/** Returns the answer to a suggestion that must not be published. */
export function answerForWithheld(path: string, reason: LeftOutReason): OwnAnswer {
  return {
    result: 'refused',
    words: `Not applied: ${inlineCode(path)} is left out, because ${LEFT_OUT_CLAUSES[reason]}`,
  };
}

/** Returns the answer to a conflict that no longer exists. */
export function answerForMerged(baseBranch: string): OwnAnswer {
  return { result: 'found', words: `The branch already has the newest commit of ${inlineCode(baseBranch)}` };
}

/**
 * Returns Ralph's own answer with exactly these words, if the task allows it; null if Ralph did not write the words,
 * even if `isOurs` says so.
 */
function ownAnswerIn(words: string | null, { source }: Pick<Task, 'source'>, baseBranch: string): OwnAnswer | null {
  const on = source.kind === 'feedback' ? source.on : null;
  const possible = on === null ? [] : ownAnswers(on, baseBranch);
  return possible.find((one) => capText(one.words, MAX_ANSWER_CHARS) === words) ?? null;
}

/** Lists Ralph's own possible answers to a subject. Any other answer counts as the agent's words. */
function ownAnswers(on: Extract<Task['source'], { kind: 'feedback' }>['on'], baseBranch: string): readonly OwnAnswer[] {
  switch (on.kind) {
    case 'thread':
      if (on.suggestion === null) return [];
      return [
        SUGGESTION_APPLIED,
        ALREADY_APPLIED,
        ...leftOutReasons.map((reason) => answerForWithheld(on.path, reason)),
      ];
    case 'conflict':
      return [answerForMerged(baseBranch), MERGED_WITHOUT_CALL, MERGED_BY_ITSELF];
    case 'review':
    case 'comment':
    case 'check':
      return [];
  }
}

function inlineCode(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}
