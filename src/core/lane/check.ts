import type { ObjectId, Verification } from '../evidence.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import { isFinished, type QueuedTask, type TaskProgress } from '../tasks/task.ts';
import { failsAsBase, redBaseOf } from './base/red-base.ts';
import { noSignals } from './circuit.ts';
import type { Check, LaneState } from './state.ts';
import { withTransition } from './session.ts';

/** What a check was about: a commit, and the hash of the verify commands. */
export type CheckSubject = Pick<Check, 'commit' | 'commands'>;

/** A verification in a clean clone, as the state keeps it; null: nothing came of it. */
export function checkOf(subject: CheckSubject, verification: Verification): Check | null {
  switch (verification.kind) {
    case 'not-run':
      return null;
    case 'passed':
      return { ...subject, kind: 'passed', command: null, exitCode: 0 };
    case 'failed':
      return { ...subject, kind: 'failed', command: verification.command.slice(0, 200), exitCode: verification.code };
  }
}

/** These commands at this commit. `sha256`: text → its hash, in hex digits. */
export function checkSubject(
  verify: readonly string[],
  { commit, sha256 }: { readonly commit: ObjectId; readonly sha256: (text: string) => string },
): CheckSubject {
  return { commit, commands: sha256(verify.join('\n')).slice(0, 32) };
}

/** Whether a check says what these commands make of this commit. */
export function isCheckOf(check: Check | null, { commit, commands }: CheckSubject): boolean {
  return check?.commit === commit && check.commands === commands;
}

/** The words of shells, interpreters, package managers and build tools for a command, script or task that is not there. */
const NOT_THERE: readonly RegExp[] = [
  /missing script:/i,
  /^(?:npm (?:ERR!|error) )?Unknown command: "/m,
  /npm (?:ERR!|error) (?:could not determine executable to run|enoent Could not read package\.json|404 Not Found - GET )/,
  /ERR_PNPM_NO_SCRIPT|ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\s+Command "[^"]*" not found/,
  /^error Command "[^"]*" not found\.?$/im,
  /^Usage Error: (?:Couldn't find a script named|The project in )/m,
  /^error: (?:Script|Task) not found/im,
  /No rule to make target/,
  /could not find a Makefile|No targets specified and no makefile found/i,
  /^error: (?:no such (?:sub)?command|Justfile does not contain|unrecognized subcommand|Failed to spawn:)/im,
  /^go:? \S+: unknown command/m,
  /^Task '[^']*' not found in (?:root )?project/m,
  /Unknown lifecycle phase "/,
  /^\*\* \(Mix\) The task "[^"]*" could not be found/m,
  /^Don't know how to build task '/m,
  /^\s*Command "[^"]*" is not defined/m,
  /^bundler: command not found:/m,
  /^git: '[^']*' is not a git command/m,
  // Interpreters, which name the missing file themselves: a traceback of the program looks otherwise.
  /(?:^|\/)python[\d.]*: (?:can't open file|No module named )/m,
  /^(?:\S*\/)?(?:ba|da|z|k)?sh: (?:\d+: )?(?:cannot open|can't open|\S+: (?:cannot open|No such file or directory))/im,
  /^bash: line \d+: (?:cd: [^\n:]+|\S+\.sh): No such file or directory/m,
  /^Can't open perl script "/m,
  /^ruby: No such file or directory -- /m,
  /^Could not open input file: /m,
  /^(?:ERROR: file or directory not found: |Could not find '[^']*'$)/m,
  /^error: Module not found "file:/im,
  // Node prints an empty stack of requires for a main script alone.
  /Cannot find module '[^']*'[^]{0,2000}code: 'MODULE_NOT_FOUND',\s*requireStack: \[\]/,
];

/** Whether a failed verification says nothing of the code: its command cannot run at all (127 and 126 are a shell's own). */
export function cannotRun(verification: Verification): boolean {
  if (verification.kind !== 'failed') return false;
  return (
    verification.code === 127 ||
    verification.code === 126 ||
    NOT_THERE.some((pattern) => pattern.test(verification.tail))
  );
}

/** The tasks that a check of the head decides on: those that are finished, or all of the branch where a complete lane has none. */
export function decidedByCheck(state: LaneState, isComplete: boolean): readonly TaskId[] {
  const { tasks, change } = state;
  const finished = finishedIn(state).filter((id) => !isAnsweredUnchanged(state, id));
  return finished.length > 0 || !isComplete
    ? finished
    : Object.keys(change.tasks).filter((id) => progressOf(tasks, id).state === 'done');
}

function finishedIn({ tasks }: Pick<LaneState, 'tasks'>): readonly TaskId[] {
  return Object.keys(tasks).filter((id) => tasks[id]?.state === 'finished');
}

/** An answer that needs no change leaves no commit to prove. */
function isAnsweredUnchanged({ feedback: { items } }: LaneState, id: TaskId): boolean {
  return Object.hasOwn(items, id) && items[id]?.answer?.kind === 'unchanged';
}

/** Tasks that are done as soon as a check of the head passes. */
export function awaitingCheck({ tasks }: Pick<LaneState, 'tasks'>): readonly TaskId[] {
  return Object.keys(tasks).filter((id) => tasks[id]?.unproven === true);
}

/** Whether this very commit failed in a clean clone. */
export function isKnownRed({ headCheck }: LaneState, commit: ObjectId): boolean {
  return headCheck?.kind === 'failed' && headCheck.commit === commit;
}

/** Of those that await a check, the ones that no call helps: the work tree is red as well, and another task that was begun and is not done may be why. */
export function waitingForOthers(state: LaneState, tasks: readonly QueuedTask[]): readonly TaskId[] {
  if (state.change.failingSince === null) return [];
  const awaiting = awaitingCheck(state);
  const isHalfDone = tasks.some(({ id }) => {
    const progress = progressOf(state.tasks, id);
    return progress.attempts > 0 && !isFinished(progress) && !awaiting.includes(id);
  });
  return isHalfDone ? awaiting : [];
}

/** The state as others may build on it: what is finished is done where its commit is proven or needs no proof, and otherwise open again. */
export function settleFinished(state: LaneState, isProven: boolean, now: number): LaneState {
  const settled = isProven ? state : reopen(state, decidedByCheck(state, false), { reason: 'not_verified', now });
  return makeDone(settled, { ids: finishedIn(settled), reason: 'done', now });
}

/** The state after the published head was checked in a clean clone: `finished` is what a check that fails takes back. */
export function recordHeadCheck(
  state: LaneState,
  { check, finished }: { readonly check: Check; readonly finished: readonly TaskId[] },
  now: number,
): LaneState {
  const checked: LaneState = { ...state, headCheck: check };
  if (check.kind === 'passed')
    return makeDone(checked, { ids: [...finishedIn(checked), ...awaitingCheck(checked)], reason: 'verified', now });
  const reopened = reopen(checked, finished, { reason: 'not_verified', now });
  const { lastIteration } = reopened;
  return {
    ...reopened,
    signals: noSignals,
    lastIteration:
      lastIteration === null
        ? null
        : {
            ...lastIteration,
            verification: 'failed',
            hints: [...new Set([...lastIteration.hints, 'clean_check' as const])],
          },
  };
}

/** Makes tasks done, the only place that does: their commit is proven, or needs no proof. No call is made or counted for it. */
function makeDone(
  state: LaneState,
  { ids, reason, now }: { readonly ids: readonly TaskId[]; readonly reason: 'verified' | 'done'; readonly now: number },
): LaneState {
  return ids.reduce((next, id) => {
    const before = progressOf(next.tasks, id);
    const doneCommit = before.unproven === true ? (next.headCheck?.commit ?? null) : before.doneCommit;
    const done: TaskProgress = {
      ...before,
      state: 'done',
      reason: null,
      setAside: null,
      doneCommit,
      unproven: undefined,
    };
    return withTransition(
      { ...next, tasks: { ...next.tasks, [id]: done }, currentTask: next.currentTask === id ? null : next.currentTask },
      { at: now, subject: 'task', from: `${id} ${before.state}`, to: 'done', reason },
    );
  }, state);
}

/** Opens tasks again that are finished or done, the only place that does: nobody has seen them pass where it counts, or nobody wants them any more. */
export function reopen(
  state: LaneState,
  ids: readonly TaskId[],
  { reason, now }: { readonly reason: 'not_verified' | 'withdrawn'; readonly now: number },
): LaneState {
  const isWanted = reason === 'not_verified';
  const reopened = ids.reduce<LaneState>((next, id) => {
    const before = progressOf(next.tasks, id);
    const open: TaskProgress = {
      ...before,
      state: 'in-progress',
      doneCommit: null,
      unproven: isWanted ? true : undefined,
      unmarked: undefined,
    };
    return withTransition(
      { ...next, tasks: { ...next.tasks, [id]: open } },
      { at: now, subject: 'task', from: `${id} ${before.state}`, to: 'in-progress', reason },
    );
  }, state);
  // What is half done is gone on with first: it may be what the check fails for.
  return isWanted ? { ...reopened, currentTask: reopened.currentTask ?? ids.at(-1) ?? null } : reopened;
}

/**
 * The state after `verify` ran on the base. A base that fails in the way that an iteration could not cure holds back the
 * next call as well; one that passes again is to be merged first.
 */
export function recordBaseCheck(state: LaneState, subject: CheckSubject, verification: Verification): LaneState {
  const before = state.redBase;
  const found = redBaseOf(subject, verification);
  const baseCheck = checkOf(subject, verification);
  const checked: LaneState = { ...state, baseCheck };
  if (baseCheck === null) return checked;
  if (found === null) return { ...checked, redBase: before === null ? null : { ...before, stage: 'repaired' } };
  const isSame =
    before?.stage === 'recheck' && before.commands === subject.commands && failsAsBase(before, verification);
  return { ...checked, redBase: { ...found, stage: isSame ? 'tried' : 'found' } };
}

/** True if the base check of this subject is known and needs no run of `verify`. States of earlier versions do not say how a red base failed. */
export function isBaseKnown({ baseCheck, redBase }: LaneState, subject: CheckSubject): boolean {
  if (!isCheckOf(baseCheck, subject)) return false;
  return baseCheck?.kind === 'passed' || (redBase !== null && redBase.stage !== 'recheck');
}

/** The state in which an iteration has tried to cure the red base in vain: no further call is made. */
export function holdForBase(state: LaneState): LaneState {
  return state.redBase === null ? state : { ...state, redBase: { ...state.redBase, stage: 'tried' } };
}

/** The state of a lane that waits for its base, at the start of a run: a person who asks gets one more try, and a base or `verify` that changed is checked again. */
export function reconsiderBase(
  state: LaneState,
  now: { readonly asked: boolean; readonly subject: CheckSubject; readonly verifies: boolean },
): LaneState {
  const { redBase } = state;
  if (redBase === null) return state;
  if (!now.verifies) return { ...state, redBase: null };
  if (redBase.stage !== 'tried') return state;
  if (now.asked) return { ...state, redBase: { ...redBase, stage: 'found' } };
  const isSame = redBase.commit === now.subject.commit && redBase.commands === now.subject.commands;
  return isSame ? state : { ...state, redBase: { ...redBase, stage: 'recheck' } };
}
