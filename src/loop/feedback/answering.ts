import { doneWithoutCall } from '../../core/feedback/answered.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { answerWith, beginRound } from '../../core/feedback/rounds.ts';
import { serializeAnswer } from '../../core/journal/journal.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import type { Work } from '../../handover/work.ts';
import type { LoopDeps } from '../deps.ts';

type Answer = NonNullable<FeedbackItem['answer']>;

/** The work in which what a feedback task asks is answered without a call, in our own words; the journal has it, too. */
export function answerWithoutCall(
  { clock, redact, record, appendJournal }: Pick<LoopDeps, 'clock' | 'redact' | 'record' | 'appendJournal'>,
  work: Work,
  { id, kind, words, lockFiles }: { readonly id: TaskId; readonly words: string } & Pick<Answer, 'kind' | 'lockFiles'>,
): Work {
  const { lane, head, state } = work;
  const now = clock.now();
  const begun = beginRound(state.feedback, id, progressOf(state.tasks, id));
  const commit = kind === 'changed' ? head : null;
  const said = { kind, commit, words: redact(words), isOurs: true, at: now };
  const feedback = answerWith(begun, id, lockFiles === undefined ? said : { ...said, lockFiles });
  const answered: Work = { ...work, state: { ...doneWithoutCall(state, [id], head), feedback } };
  appendJournal(serializeAnswer({ version: 1, lane: lane.id, answeredAt: now, tasks: [id], commit: head }));
  record(answered);
  return answered;
}
