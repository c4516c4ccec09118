import { MINUTE_MS } from '../../core/countdown.ts';
import { classifyAnswer, finishWithoutCall, type OwnAnswer } from '../../core/feedback/answered.ts';
import {
  type LockFile,
  selectLockFiles,
  type LockFileToRegenerate,
  describeLockFile,
  type LockResult,
  type LockTool,
  findCalledTools,
} from '../../core/feedback/conflict/lock-tools.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { setAnswer, beginRound, findUnpostedCommit } from '../../core/feedback/rounds.ts';
import { serializeEvent } from '../../core/journal/journal.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import type { Work } from '../../handover/intake.ts';
import type { CommandRun } from '../../ports/agent.ts';
import type { LoopDeps } from '../deps.ts';

type Answer = NonNullable<FeedbackItem['answer']>;

/** Maximum time of one tool, in ms. A tool asks registries, but installs and builds nothing. */
const TOOL_MS = 5 * MINUTE_MS;

/** Exit code of a shell for a missing program. */
const NOT_FOUND = 127;

/**
 * Returns the lock files that the loop regenerates itself. These are the ones whose tool the project named, in a file
 * or in the set-up, before the agent worked.
 */
export function listRegeneratedLockFiles(deps: LoopDeps, paths: readonly string[]): readonly LockFileToRegenerate[] {
  // A path that contains a secret cannot be shown, so leave its file to the agent.
  const tellable = paths.filter((path) => deps.redact(path) === path);
  return selectLockFiles(tellable, toolsNamed(deps));
}

function toolsNamed({ prompt, config, pipeline }: LoopDeps): readonly LockTool[] {
  const steps = pipeline?.steps.flatMap((step) => (step.kind === 'command' ? [step.command] : [])) ?? [];
  return [...prompt.lockTools, ...findCalledTools(config.verify.join('\n')), ...findCalledTools(steps.join('\n'))];
}

/**
 * If nothing else conflicts, regenerates the lock files of the open merge whose tools the project names. Undoes the
 * changes of a failed or cancelled tool.
 */
export async function regenerateLockFiles(deps: LoopDeps, work: Work): Promise<readonly LockFile[]> {
  const results: LockFile[] = [];
  for (const one of listRegeneratedLockFiles(deps, await deps.repository.lockFilesLeft())) {
    const file: LockFile = { path: one.path, tool: one.tool, result: await remake(deps, work, one) };
    results.push(file);
    if (file.result === 'made') deps.log.info(toOneLine(describeLockFile(file), 400));
    else deps.log.warning(toOneLine(describeLockFile(file), 400));
  }
  return results;
}

async function remake(
  { repository, commands, config, clock, signal }: LoopDeps,
  { startedAt }: Work,
  { path, folder, words }: LockFileToRegenerate,
): Promise<LockResult> {
  const { maxRunMs, agentTimeoutMs } = config.policy;
  const timeoutMs = Math.min(TOOL_MS, agentTimeoutMs, startedAt + maxRunMs - clock.now());
  const isCancelled = (): boolean => signal.aborted;
  if (isCancelled()) return 'cancelled';
  if (timeoutMs <= 0) return 'timeout';
  const { end } = await commands.run({ command: words, folder, timeoutMs, signal });
  const failure = isCancelled() ? 'cancelled' : lockFailureOf(end);
  if (failure === null) {
    const kept = await repository.keepAlone(path);
    return kept === 'kept' ? 'made' : kept;
  }
  await repository.putBack();
  return failure;
}

function lockFailureOf(end: CommandRun['end']): LockResult | null {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return null;
      return end.code === NOT_FOUND ? 'missing' : 'failed';
    case 'signalled':
      return 'failed';
    case 'timeout':
    case 'cancelled':
      return end.kind;
  }
}

/**
 * Answers a feedback task without a call, in our own words, in the work and in the journal. The answer names the newest
 * commit.
 */
export function answerWithoutCall(
  { clock, redact, record, appendJournal }: Pick<LoopDeps, 'clock' | 'redact' | 'record' | 'appendJournal'>,
  work: Work,
  { id, own, lockFiles }: { readonly id: TaskId; readonly own: OwnAnswer } & Pick<Answer, 'lockFiles'>,
): Work {
  const { lane, head, state } = work;
  const now = clock.now();
  const begun = beginRound(state.feedback, id, getProgress(state.tasks, id));
  const change = classifyAnswer(own, { made: head, earlier: findUnpostedCommit(begun, id) });
  const said = { ...change, words: redact(own.words), isOurs: true, at: now };
  const feedback = setAnswer(begun, id, lockFiles === undefined ? said : { ...said, lockFiles });
  const answered: Work = { ...work, state: { ...finishWithoutCall(state, [id], head), feedback } };
  const by = { answeredAt: now, tasks: [id], result: change.kind, commit: head };
  appendJournal(serializeEvent({ kind: 'answer', version: 1, lane: lane.id, ...by }));
  record(answered);
  return answered;
}
