import { measured } from '../core/lane/change.ts';
import type { Deed } from '../core/loop/next-deed.ts';
import { serializeEnd } from '../core/journal/journal.ts';
import { alsoDoneAs, settleOpenEnded } from '../core/open-ended/completion.ts';
import { documentsNamed, promptFiles, promptTask } from '../core/open-ended/prompt-task.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/work.ts';
import type { LoopDeps } from './deps.ts';
import { tidy } from './tidy.ts';

/** Ends a run as it was decided. */
export async function concludeRun(
  deps: LoopDeps,
  work: Work,
  { ending, waitSkippedBy }: Extract<Deed, { kind: 'end' }>,
): Promise<Work> {
  const { outcome, decidedAt, cancelled } = ending;
  const tidied = await tidy(deps, work);
  const settled = await endPrompt(deps, { ...tidied, outcome, endedAt: decidedAt, notWaited: waitSkippedBy });
  const ended = await reviewed(deps, settled);
  deps.appendJournal(serializeEnd({ version: 1, lane: work.lane.id, decidedAt, cancelled, outcome }));
  deps.record(ended);
  return ended;
}

/** Ends a run that cannot continue. Its journal has no decision to end. */
export function breakOff(deps: LoopDeps, work: Work, outcome: Outcome): Work {
  const ended: Work = { ...work, outcome, endedAt: deps.clock.now() };
  deps.record(ended);
  return ended;
}

/** Marks a finished prompt as done also with the documents as this branch has them, so that its merge asks for nothing new. */
async function endPrompt(deps: LoopDeps, work: Work): Promise<Work> {
  const taskId = work.journal.at(-1)?.taskId ?? null;
  const { outcome, endedAt } = work;
  const state = settleOpenEnded(work.state, { outcome, taskId, commit: work.head }, endedAt);
  if (taskId === null || state === work.state) return { ...work, state };
  const merged = await publishedPrompt(deps).catch(() => null);
  return { ...work, state: merged === null ? state : alsoDoneAs(state, taskId, merged.id) };
}

/** The prompt with its documents as of the lane's newest commit; null: there is none. */
async function publishedPrompt({
  config: { promptFile },
  repository,
  sha256,
}: Pick<LoopDeps, 'config' | 'repository' | 'sha256'>): Promise<Task | null> {
  const texts = await repository.publishedTexts(promptFiles(promptFile));
  const named = documentsNamed(texts, promptFile);
  const documents = named.length === 0 ? {} : await repository.publishedTexts(named);
  return promptTask({ ...documents, ...texts }, { promptFile, sha256 });
}

/** Measures all that the branch has, also of earlier runs, since the pull request is about all of it. */
async function reviewed({ repository, signal }: LoopDeps, work: Work): Promise<Work> {
  const review = signal.aborted ? null : await repository.review().catch(() => null);
  if (review === null) return work;
  const { change } = work.state;
  return { ...work, lookAt: review.lookAt, state: { ...work.state, change: measured(change, review) } };
}
