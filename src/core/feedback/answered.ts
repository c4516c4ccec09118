import type { JournalEntry } from '../journal/journal.ts';
import type { LaneState } from '../lane/state/state.ts';
import { LEFT_OUT, type LeftOutReason, leftOutReasons } from '../review/left-out.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf, withEach } from '../tasks/queue.ts';
import { isFinished, isStuck, type Task } from '../tasks/task.ts';
import { capped, cut } from '../text/phrase.ts';
import { type Feedback, type FeedbackItem, type FeedbackRound, MAX_ANSWER_CHARS, withoutLockFiles } from './memory.ts';
import { addRound, answerWith, countBotRounds, type Remembered, workedBefore, workOn } from './rounds.ts';
import { isFeedback } from './subject.ts';
import { isUnproven, provenAnswers } from './unproven.ts';

// The answers that Ralph gives without asking an agent are a closed set of sentence parts in which `backticks` mark
// code.

/** An answer that Ralph gives without asking an agent. `made`: a commit was made; `found`: nothing was left to do; `refused`: the change must not be made. */
export interface OwnAnswer {
  readonly came: 'made' | 'found' | 'refused';
  readonly words: string;
}

/** The answer to a suggestion that was committed unchanged. */
export const SUGGESTION_APPLIED: OwnAnswer = { came: 'made', words: 'Applied as suggested' };

/** The answer to a suggestion that no longer changes anything. */
export const ALREADY_THERE: OwnAnswer = { came: 'found', words: 'The file has this text already' };

/** The answer to a merge in which only lock files conflicted and were made again. */
export const MERGED_WITHOUT_CALL: OwnAnswer = { came: 'made', words: 'Merged, with its lock files made again' };
export const MERGED_BY_ITSELF: OwnAnswer = { came: 'made', words: 'Merged: no file had to be resolved by hand' };

type Answer = NonNullable<FeedbackItem['answer']>;

/** Records the answer that an iteration gave to its feedback task: changed, unchanged, or given up to a person. */
export function answerAfter(
  state: LaneState,
  { taskId: id, commit: made, analysis, evidence: { lockFiles }, endedAt }: JournalEntry,
): LaneState {
  if (!isFeedback(id)) return state;
  const progress = progressOf(state.tasks, id);
  const commit = made ?? workedBefore(state.feedback, id);
  const { summary, asks, recommendation } = analysis.signal;
  const answer = (kind: Answer['kind'], words: string | null): LaneState => ({
    ...state,
    feedback: answerWith(state.feedback, id, {
      kind,
      commit,
      words: words === null || words === '' ? null : cut(words, MAX_ANSWER_CHARS),
      isOurs: false,
      ...(lockFiles === undefined ? {} : { lockFiles }),
      at: endedAt,
    }),
  });
  // What an agent recommends is what comes next, and no answer.
  if (isFinished(progress)) return answer(commit === null ? 'unchanged' : 'changed', summary);
  if (isStuck(progress) && progress.state !== 'stuck') return answer('given-up', asks ?? summary ?? recommendation);
  return made === null ? state : { ...state, feedback: workOn(state.feedback, id, made) };
}

/** Returns the kind and commit of one of Ralph's own answers. `made` is this run's commit for the task; `earlier` is an unanswered commit of earlier runs. */
export function changeOf(
  { came }: OwnAnswer,
  { made, earlier }: { readonly made: string | null; readonly earlier: string | null },
): Pick<Answer, 'kind' | 'commit'> {
  const commit = { made, found: earlier, refused: null }[came];
  return { kind: commit === null ? 'unchanged' : 'changed', commit };
}

/** The state in which these tasks are finished by what the loop did itself. */
export function doneWithoutCall(state: LaneState, ids: readonly TaskId[], commit: string): LaneState {
  const finished = { state: 'finished', reason: null, setAside: null, doneCommit: commit } as const;
  return { ...state, tasks: withEach(state.tasks, ids, (before) => ({ ...before, ...finished })) };
}

/** One run over a pull request: `head` is the commit that it looked at, `tasks` are all tasks of the run. */
interface RunOver {
  readonly startedAt: number;
  readonly head: string;
  readonly tasks: readonly TaskId[];
  readonly checks: FeedbackRound['checks'];
}

/** Records the run as a round if it had feedback tasks or saw checks of another head. Safe to repeat. */
export function recordRound(state: Remembered, { startedAt, head, tasks, checks }: RunOver): Feedback {
  const { feedback } = state;
  const { items } = provenAnswers(state);
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

/** Facts about a loop in another job that do not depend on its word. `made` is the newest commit of each task; no answer can be later than `endedAt`. */
interface Seen {
  readonly before: Remembered;
  readonly tasks: readonly Task[];
  readonly made: Readonly<Record<TaskId, string>>;
  readonly baseBranch: string;
  readonly endedAt: number;
}

/** Returns the memory after a loop in another job: its answers to the tasks that it was given, and the gate's knowledge for everything else. */
export function receivedFeedback(received: Feedback, { before, tasks, made, baseBranch, endedAt }: Seen): Feedback {
  const items = Object.entries(before.feedback.items).map(([id, item]) => {
    const now = Object.hasOwn(received.items, id) ? received.items[id] : undefined;
    const task = tasks.find((one) => one.id === id);
    if (now === undefined || task === undefined) return [id, item] as const;
    const rounds = Math.min(Math.max(now.rounds, item.rounds), item.rounds + 1);
    const known = { ...item, rounds };
    if (item.answer !== null && !isUnproven(item, progressOf(before.tasks, id))) return [id, known] as const;
    const commits = {
      made: (Object.hasOwn(made, id) ? made[id] : undefined) ?? null,
      earlier: workedBefore(before.feedback, id),
    };
    if (now.answer === null || now.answer.at === item.answer?.at) return [id, workedOn(known, commits.made)] as const;
    const own = ownAnswerIn(now.answer.words, task, baseBranch);
    const said = item.kind === 'conflict' ? now.answer : withoutLockFiles(now.answer);
    const at = Math.min(said.at, endedAt);
    const answer = { ...said, ...believedChange(now.answer, own, commits), at, posted: false };
    return [id, { ...known, workedIn: undefined, answer }] as const;
  });
  const next = { ...before.feedback, items: Object.fromEntries(items) };
  const begun = items.flatMap(([id, { rounds }]) => (rounds > (before.feedback.items[id]?.rounds ?? 0) ? [id] : []));
  return countBotRounds(next, begun);
}

/** Records a commit on an item that got no new answer. An answer whose change failed verification does not describe a later commit. */
function workedOn(item: FeedbackItem, made: string | null): FeedbackItem {
  if (made === null) return item;
  if (item.answer === null) return { ...item, workedIn: made };
  return { ...item, answer: { ...item.answer, commit: made, words: null, isOurs: false } };
}

/** Derives the kind of an answer from its commits. The words count as the agent's unless they are one of Ralph's own answers and fit the commits. */
function believedChange(
  { kind }: Answer,
  own: OwnAnswer | null,
  commits: { readonly made: string | null; readonly earlier: string | null },
): Pick<Answer, 'kind' | 'commit' | 'isOurs'> {
  if (own !== null && (own.came === 'made') === (commits.made !== null))
    return { ...changeOf(own, commits), isOurs: true };
  const commit = commits.made ?? commits.earlier;
  return { kind: kind === 'given-up' ? kind : commit === null ? 'unchanged' : 'changed', commit, isOurs: false };
}

/** Returns the answer to a suggestion that must not be published. */
export function suggestionWithheld(path: string, reason: LeftOutReason): OwnAnswer {
  return { came: 'refused', words: `Not applied: ${code(path)} is left out, because ${LEFT_OUT[reason]}` };
}

/** Returns the answer to a conflict that no longer exists. */
export function alreadyMerged(baseBranch: string): OwnAnswer {
  return { came: 'found', words: `The branch has the newest commit of ${code(baseBranch)} already` };
}

/** Returns Ralph's own answer with exactly these words among those possible for the task; null if the words are not Ralph's, whatever `isOurs` claims. */
function ownAnswerIn(words: string | null, { source }: Pick<Task, 'source'>, baseBranch: string): OwnAnswer | null {
  const on = source.kind === 'feedback' ? source.on : null;
  const possible = on === null ? [] : ownAnswers(on, baseBranch);
  return possible.find((one) => capped(one.words, MAX_ANSWER_CHARS) === words) ?? null;
}

/** Lists Ralph's own answers to a subject; each new one must be added here. */
function ownAnswers(on: Extract<Task['source'], { kind: 'feedback' }>['on'], baseBranch: string): readonly OwnAnswer[] {
  switch (on.kind) {
    case 'thread':
      if (on.suggestion === null) return [];
      return [
        SUGGESTION_APPLIED,
        ALREADY_THERE,
        ...leftOutReasons.map((reason) => suggestionWithheld(on.path, reason)),
      ];
    case 'conflict':
      return [alreadyMerged(baseBranch), MERGED_WITHOUT_CALL, MERGED_BY_ITSELF];
    case 'review':
    case 'check':
      return [];
  }
}

function code(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}
