import type { JournalEntry } from '../journal/journal.ts';
import type { LaneState } from '../lane/state.ts';
import { LEFT_OUT, type LeftOutReason, leftOutReasons } from '../review/left-out.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf, withEach } from '../tasks/queue.ts';
import { isFinished, isStuck, type Task } from '../tasks/task.ts';
import { capped, cut } from '../text/phrase.ts';
import { type Feedback, type FeedbackItem, type FeedbackRound, MAX_ANSWER_CHARS, withoutLockFiles } from './memory.ts';
import { addRound, answerWith, countBotRounds, type Remembered, workedBefore, workOn } from './rounds.ts';
import { isFeedback } from './subject.ts';
import { isUnproven, provenAnswers } from './unproven.ts';

// What Ralph itself answers where no agent was asked: a closed set of sentence parts in which `backticks` mark code.

/** `came`: a commit was made for it, or nothing was left to do (`found`), or it must not be done (`refused`). */
export interface OwnAnswer {
  readonly came: 'made' | 'found' | 'refused';
  readonly words: string;
}

/** A suggestion that was committed as it stands. */
export const SUGGESTION_APPLIED: OwnAnswer = { came: 'made', words: 'Applied as suggested' };

/** A suggestion that changes nothing any more. */
export const ALREADY_THERE: OwnAnswer = { came: 'found', words: 'The file has this text already' };

/** A merge in which nothing but lock files conflicted, which were made again. */
export const MERGED_WITHOUT_CALL: OwnAnswer = { came: 'made', words: 'Merged, with its lock files made again' };

type Answer = NonNullable<FeedbackItem['answer']>;

/** The state after an iteration, in which what it answered is answered: with a change, without one, or by leaving it to a person. */
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

/** What an answer of ours says came of it. `made`: the commit of it in this run; `earlier`: that of earlier runs which has no answer. */
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

/** One run over the pull request. `head`: what it looked at; `tasks`: all that the run had. */
interface RunOver {
  readonly startedAt: number;
  readonly head: string;
  readonly tasks: readonly TaskId[];
  readonly checks: FeedbackRound['checks'];
}

/** The memory with the round that a run is: one that answered, or saw checks of another head. Safe to repeat. */
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

/** What is known of a loop in another job without its word. `made`: the newest commit for each task; `endedAt`: no answer is of later. */
interface Seen {
  readonly before: Remembered;
  readonly tasks: readonly Task[];
  readonly made: Readonly<Record<TaskId, string>>;
  readonly baseBranch: string;
  readonly endedAt: number;
}

/** The memory after a loop in another job: of the tasks that it was given what it answered, of all else what the gate knew. */
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

/** What was not answered once more. An answer that did not pass is not that of a later commit. */
function workedOn(item: FeedbackItem, made: string | null): FeedbackItem {
  if (made === null) return item;
  if (item.answer === null) return { ...item, workedIn: made };
  return { ...item, answer: { ...item.answer, commit: made, words: null, isOurs: false } };
}

/** What came of it, by its commits. Words are the agent's, but for ours where they fit those. */
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

/** A suggestion that must not be published. */
export function suggestionWithheld(path: string, reason: LeftOutReason): OwnAnswer {
  return { came: 'refused', words: `Not applied: ${code(path)} is left out, because ${LEFT_OUT[reason]}` };
}

/** A conflict that is none any more. */
export function alreadyMerged(baseBranch: string): OwnAnswer {
  return { came: 'found', words: `The branch has the newest commit of ${code(baseBranch)} already` };
}

/** The answer of ours that these words are, among all that there are for such a task; null: they are not ours, whoever says that they are. */
function ownAnswerIn(words: string | null, { source }: Pick<Task, 'source'>, baseBranch: string): OwnAnswer | null {
  const on = source.kind === 'feedback' ? source.on : null;
  const possible = on === null ? [] : ownAnswers(on, baseBranch);
  return possible.find((one) => capped(one.words, MAX_ANSWER_CHARS) === words) ?? null;
}

/** A new answer of ours has its place here. */
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
      return [alreadyMerged(baseBranch), MERGED_WITHOUT_CALL];
    case 'review':
    case 'check':
      return [];
  }
}

function code(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}
