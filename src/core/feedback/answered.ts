import type { JournalEntry } from '../journal/journal.ts';
import type { LaneState } from '../lane/state.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import { isStuck } from '../tasks/task.ts';
import { cut } from '../text/cut.ts';
import { MERGED_WITHOUT_CALL, SUGGESTION_APPLIED } from './answer-words.ts';
import { MAX_ANSWER_CHARS, withoutLockFiles, type Feedback, type FeedbackItem, type FeedbackRound } from './memory.ts';
import { addRound, answerWith, type Remembered } from './rounds.ts';
import { isFeedback } from './subject.ts';
import { provenAnswers } from './unproven.ts';

type Answer = NonNullable<FeedbackItem['answer']>;

/** The state after an iteration, in which what it answered is answered: with a change, without one, or by leaving it to a person. `earlier`: iterations of this run before it. */
export function answerAfter(state: LaneState, entry: JournalEntry, earlier: readonly JournalEntry[]): LaneState {
  const { taskId: id } = entry;
  if (!isFeedback(id)) return state;
  const progress = progressOf(state.tasks, id);
  const commit =
    [...earlier, entry].findLast((one) => one.taskId === id && one.commit !== null)?.commit ??
    commitBefore(state, entry);
  const { summary, asks, recommendation } = entry.analysis.signal;
  const answer = (kind: Answer['kind'], words: string | null): LaneState => ({
    ...state,
    feedback: answerWith(state.feedback, id, {
      kind,
      commit,
      words: words === null || words === '' ? null : cut(words, MAX_ANSWER_CHARS),
      isOurs: false,
      ...(entry.evidence.lockFiles === undefined ? {} : { lockFiles: entry.evidence.lockFiles }),
      at: entry.endedAt,
    }),
  });
  // What an agent recommends is what comes next, and no answer.
  if (progress.state === 'done') return answer(commit === null ? 'unchanged' : 'changed', summary);
  return isStuck(progress) && progress.state !== 'stuck'
    ? answer('given-up', asks ?? summary ?? recommendation)
    : state;
}

/** Of an earlier run that did not finish: a suggestion that did not pass alone, or work that was begun. */
function commitBefore({ feedback, tasks }: LaneState, { taskId, evidence }: JournalEntry): string | null {
  const answer = Object.hasOwn(feedback.items, taskId) ? (feedback.items[taskId]?.answer ?? null) : null;
  if (answer?.kind === 'changed' && !answer.posted) return answer.commit;
  const { startedTree, doneCommit } = progressOf(tasks, taskId);
  return startedTree !== null && startedTree !== evidence.after.tree ? doneCommit : null;
}

/** The state in which these tasks are done by what the loop did itself. */
export function doneWithoutCall(state: LaneState, ids: readonly TaskId[], commit: string): LaneState {
  const done = ids.map((id) => {
    const before = progressOf(state.tasks, id);
    return [id, { ...before, state: 'done', reason: null, setAside: null, doneCommit: commit }] as const;
  });
  return { ...state, tasks: { ...state.tasks, ...Object.fromEntries(done) } };
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

/** The memory after a loop in another job: of the tasks that it was given what it answered, of all else what the gate knew. `commits`: those that it made, the newest last. */
export function receivedFeedback(
  received: Feedback,
  {
    before,
    tasks,
    commits,
  }: { readonly before: Feedback; readonly tasks: readonly string[]; readonly commits: readonly string[] },
): Feedback {
  const items = Object.entries(before.items).map(([id, item]) => {
    const now = Object.hasOwn(received.items, id) ? received.items[id] : undefined;
    if (now === undefined || !tasks.includes(id)) return [id, item] as const;
    const rounds = Math.min(Math.max(now.rounds, item.rounds), item.rounds + 1);
    const answer = now.answer === null || item.kind === 'conflict' ? now.answer : withoutLockFiles(now.answer);
    return [id, { ...item, rounds, answer: believedAnswer(answer, item.answer, commits) }] as const;
  });
  return { ...before, items: Object.fromEntries(items) };
}

/** The loop can only answer with commits that it made. Words are the agent's, but for ours that are always the same. */
function believedAnswer(
  now: FeedbackItem['answer'],
  before: FeedbackItem['answer'],
  commits: readonly string[],
): FeedbackItem['answer'] {
  if (before !== null || now === null) return before;
  const newest = commits.at(-1) ?? null;
  const commit = now.commit !== null && commits.includes(now.commit) ? now.commit : newest;
  const isOurs = now.words === SUGGESTION_APPLIED || now.words === MERGED_WITHOUT_CALL;
  if (now.kind !== 'changed' || commit === null)
    return { ...now, kind: now.kind === 'changed' ? 'unchanged' : now.kind, commit: null, isOurs, posted: false };
  return { ...now, commit, isOurs, posted: false };
}
