import type { OwnAnswer } from '../../core/feedback/answer-words.ts';
import { changeOf, doneWithoutCall } from '../../core/feedback/answered.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { answerWith, beginRound, workedBefore } from '../../core/feedback/rounds.ts';
import { serializeAnswer } from '../../core/journal/journal.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import type { Work } from '../../handover/work.ts';
import type { LoopDeps } from '../deps.ts';

type Answer = NonNullable<FeedbackItem['answer']>;

/** Answers a feedback task without a call, in our own words, in the work and in the journal. The answer names the newest commit. */
export function answerWithoutCall(
  { clock, redact, record, appendJournal }: Pick<LoopDeps, 'clock' | 'redact' | 'record' | 'appendJournal'>,
  work: Work,
  { id, own, lockFiles }: { readonly id: TaskId; readonly own: OwnAnswer } & Pick<Answer, 'lockFiles'>,
): Work {
  const { lane, head, state } = work;
  const now = clock.now();
  const begun = beginRound(state.feedback, id, progressOf(state.tasks, id));
  const change = changeOf(own, { made: head, earlier: workedBefore(begun, id) });
  const said = { ...change, words: redact(own.words), isOurs: true, at: now };
  const feedback = answerWith(begun, id, lockFiles === undefined ? said : { ...said, lockFiles });
  const answered: Work = { ...work, state: { ...doneWithoutCall(state, [id], head), feedback } };
  const line = { version: 1, lane: lane.id, answeredAt: now, tasks: [id], result: change.kind, commit: head } as const;
  appendJournal(serializeAnswer(line));
  record(answered);
  return answered;
}
