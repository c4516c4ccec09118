import { doneWithoutCall } from '../../core/feedback/answered.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { answerWith, beginRound } from '../../core/feedback/rounds.ts';
import { serializeAnswer } from '../../core/journal/journal.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import type { Work } from '../../handover/work.ts';
import type { LoopDeps } from '../deps.ts';

/** The work in which what a feedback task asks is answered without a call, in our own words; the journal has it, too. */
export function answerWithoutCall(
  { clock, redact, record, appendJournal }: Pick<LoopDeps, 'clock' | 'redact' | 'record' | 'appendJournal'>,
  work: Work,
  {
    id,
    kind,
    words,
  }: { readonly id: TaskId; readonly words: string } & Pick<NonNullable<FeedbackItem['answer']>, 'kind'>,
): Work {
  const { lane, head, state } = work;
  const now = clock.now();
  const begun = beginRound(state.feedback, id, progressOf(state.tasks, id));
  const commit = kind === 'changed' ? head : null;
  const feedback = answerWith(begun, id, { kind, commit, words: redact(words), isOurs: true, at: now });
  const answered: Work = { ...work, state: { ...doneWithoutCall(state, [id], head), feedback } };
  appendJournal(serializeAnswer({ version: 1, lane: lane.id, answeredAt: now, tasks: [id], commit: head }));
  record(answered);
  return answered;
}
