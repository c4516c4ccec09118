import type { JournalEntry } from '../journal/journal.ts';
import type { LaneState } from '../lane/state.ts';
import { progressOf } from '../tasks/queue.ts';
import { isStuck } from '../tasks/task.ts';
import { cut } from '../text/cut.ts';
import { MAX_ANSWER_CHARS, type Feedback, type FeedbackItem } from './memory.ts';
import { answerWith } from './rounds.ts';
import { isFeedback } from './subject.ts';

type Answer = NonNullable<FeedbackItem['answer']>;

/** The state after an iteration, in which what it answered is answered: with a change, without one, or by leaving it to a person. `earlier`: iterations of this run before it. */
export function answerAfter(state: LaneState, entry: JournalEntry, earlier: readonly JournalEntry[]): LaneState {
  const { taskId: id } = entry;
  if (!isFeedback(id)) return state;
  const progress = progressOf(state.tasks, id);
  const commit = [...earlier, entry].findLast((one) => one.taskId === id && one.commit !== null)?.commit ?? null;
  const { summary, asks, recommendation } = entry.analysis.signal;
  const answer = (kind: Answer['kind'], words: string | null): LaneState => ({
    ...state,
    feedback: answerWith(state.feedback, id, {
      kind,
      commit,
      words: words === null || words === '' ? null : cut(words, MAX_ANSWER_CHARS),
      isOurs: false,
      at: entry.endedAt,
    }),
  });
  if (progress.state === 'done') return answer(commit === null ? 'unchanged' : 'changed', summary ?? recommendation);
  return isStuck(progress) && progress.state !== 'stuck'
    ? answer('given-up', asks ?? summary ?? recommendation)
    : state;
}

/** The memory without answers that do not hold: of tasks that were finished, and then the published commit failed its verification. */
export function standingAnswers({ feedback, tasks }: Pick<LaneState, 'feedback' | 'tasks'>): Feedback {
  const items = Object.entries(feedback.items).map(([id, item]) => {
    const { state } = progressOf(tasks, id);
    const holds = item.answer === null || item.answer.posted || state === 'done' || item.answer.kind === 'given-up';
    return [id, holds ? item : { ...item, answer: null }] as const;
  });
  return { ...feedback, items: Object.fromEntries(items) };
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
    return [id, { ...item, rounds, answer: believedAnswer(now.answer, item.answer, commits) }] as const;
  });
  return { ...before, items: Object.fromEntries(items) };
}

/** A commit that the loop did not make is none that it answers with; words are the agent's, whoever says otherwise. */
function believedAnswer(
  now: FeedbackItem['answer'],
  before: FeedbackItem['answer'],
  commits: readonly string[],
): FeedbackItem['answer'] {
  if (before !== null || now === null) return before;
  const newest = commits.at(-1) ?? null;
  const commit = now.commit !== null && commits.includes(now.commit) ? now.commit : newest;
  if (now.kind !== 'changed') return { ...now, commit: null, isOurs: false, posted: false };
  if (commit === null) return { ...now, kind: 'unchanged', commit: null, isOurs: false, posted: false };
  return { ...now, commit, isOurs: false, posted: false };
}
