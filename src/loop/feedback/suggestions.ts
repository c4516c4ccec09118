import { ALREADY_THERE, SUGGESTION_APPLIED, suggestionWithheld } from '../../core/feedback/answer-words.ts';
import { applySuggestion } from '../../core/feedback/reviews/suggestions.ts';
import type { ThreadSubject } from '../../core/feedback/subject.ts';
import { isInFolder, seenFrom } from '../../core/folder.ts';
import { LEFT_OUT, leftOutReason } from '../../core/review/left-out.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import type { Task } from '../../core/tasks/task.ts';
import { MAX_SUBJECT_CHARS } from '../../core/text/commit-message.ts';
import { oneLine } from '../../core/text/one-line.ts';
import { plainTitle } from '../../core/text/plain-text.ts';
import { sentence } from '../../core/text/sentence.ts';
import { textOf } from '../../errors.ts';
import type { Work } from '../../handover/work.ts';
import type { LoopDeps } from '../deps.ts';
import { answerWithoutCall } from './answering.ts';

/** A thread whose newest comment has a suggested change. */
interface Spelled {
  readonly task: Task;
  readonly on: ThreadSubject;
}

/**
 * Commits suggested changes that fit the newest head, one commit each, before the first call. Leaves to the agent those
 * that do not fit or lie outside the working directory. Answers those that must not be published with the reason.
 */
export async function applySuggestedChanges(deps: LoopDeps, work: Work): Promise<Work> {
  // From the end of a file to its beginning, so that the lines of the remaining changes do not move.
  const spelled = spelledOut(work).sort((a, b) => b.from - a.from);
  let applied = work;
  for (const one of spelled) {
    if (deps.signal.aborted || deps.ending.aborted) break;
    applied = await applyOne(deps, applied, one).catch((error: unknown) => {
      deps.log.warning(`A suggested change of ${one.on.path} was not applied: ${sentence(textOf(error))}`);
      return applied;
    });
  }
  return applied;
}

function spelledOut({ tasks, state }: Work): (Spelled & { readonly from: number })[] {
  return tasks.flatMap((task) => {
    const { source } = task;
    if (source.kind !== 'feedback' || source.on.kind !== 'thread' || source.on.suggestion === null) return [];
    const isOpen = task.obstacle === null && progressOf(state.tasks, task.id).state === 'todo';
    return isOpen ? [{ task, on: source.on, from: source.on.suggestion.from }] : [];
  });
}

async function applyOne(deps: LoopDeps, work: Work, { task, on }: Spelled): Promise<Work> {
  const { repository, config, log, files } = deps;
  if (on.suggestion === null || !isInFolder(config.workingDirectory, on.path)) return work;
  const path = seenFrom(config.workingDirectory, on.path);
  const old = (await repository.publishedTexts([path]))[path];
  if (old === undefined) return work;
  const made = applySuggestion(old, on.suggestion);
  if (made.kind === 'stale') return work;
  if (made.kind === 'there') return answerWithoutCall(deps, work, { id: task.id, own: ALREADY_THERE });
  const { text } = made;
  const name = `${oneLine(on.path, 200)}:${String(on.suggestion.from)}`;
  const { head, withheld } = await repository.commitTexts({
    texts: { [path]: text },
    message: plainTitle(`Apply a suggestion by ${on.by} to ${name}`, MAX_SUBJECT_CHARS),
    trailers: { 'Ralph-Run': deps.context.runId, 'Ralph-Task': task.id },
  });
  if (head === work.head) {
    const why = withheld[0]?.why ?? LEFT_OUT.other;
    log.info(`The suggested change of ${name} was not applied: ${sentence(why)}`);
    const refused = { ...work, withheld: [...work.withheld, ...withheld] };
    return answerWithoutCall(deps, refused, { id: task.id, own: suggestionWithheld(on.path, leftOutReason(why)) });
  }
  await files.replace({ path, old, text }).catch(() => undefined);
  await repository.snapshot();
  log.info(`applied the suggestion by ${oneLine(on.by, 60)} to ${name} (${head.slice(0, 7)})`);
  const applied: Work = { ...work, head, hasNewCommits: true };
  return answerWithoutCall(deps, applied, { id: task.id, own: SUGGESTION_APPLIED });
}
