import type { ObjectId, Verification } from '../evidence.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import type { QueuedTask } from '../tasks/task.ts';
import { failsAsBase, redBaseOf } from './base/red-base.ts';
import { noSignals } from './circuit.ts';
import { type Check, type LaneState, MAX_UNVERIFIED } from './state.ts';
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

/** Tasks that are done and were not `before`, but for those that are answered with the reason why nothing changes. */
export function finishedSince(before: LaneState, state: LaneState): readonly TaskId[] {
  const { items } = state.feedback;
  return Object.keys(state.tasks).filter(
    (id) =>
      progressOf(state.tasks, id).state === 'done' &&
      progressOf(before.tasks, id).state !== 'done' &&
      !(Object.hasOwn(items, id) && items[id]?.answer?.kind === 'unchanged'),
  );
}

/** Returns the tasks that a run calls done and no check of its head has confirmed. For a lane that was complete before the run, these are all tasks of its branch. */
export function finishedBy({
  before,
  after,
  isComplete,
}: {
  readonly before: LaneState;
  readonly after: LaneState;
  readonly isComplete: boolean;
}): readonly TaskId[] {
  const finished = finishedSince(before, after);
  return finished.length > 0 || !isComplete
    ? finished
    : Object.keys(after.change.tasks).filter((id) => progressOf(after.tasks, id).state === 'done');
}

/** Tasks that are done as soon as a check of the head passes. */
export function awaitingCheck({ tasks, unverified }: LaneState): readonly TaskId[] {
  return unverified.filter((id) => Object.hasOwn(tasks, id) && tasks[id]?.state !== 'done');
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
    return progress.attempts > 0 && progress.state !== 'done' && !awaiting.includes(id);
  });
  return isHalfDone ? awaiting : [];
}

/** The state of a run that may have ended before its head was checked: what it finished is open again, unless a check of one of `checked` passed. */
export function withoutUnverified(
  run: { readonly before: LaneState; readonly after: LaneState; readonly checked: readonly ObjectId[] },
  now: number,
): LaneState {
  const { before, after, checked } = run;
  if (after.headCheck?.kind === 'passed' && checked.includes(after.headCheck.commit)) return after;
  const finished = finishedSince(before, after);
  return finished.length === 0 ? after : reopen(after, finished, now);
}

/** The state after the published head was checked in a clean clone. Where it fails, what this run finished is not done; where it passes, what was finished before is done as well. */
export function recordHeadCheck(
  state: LaneState,
  { check, finished }: { readonly check: Check; readonly finished: readonly TaskId[] },
  now: number,
): LaneState {
  const checked: LaneState = { ...state, headCheck: check };
  if (check.kind === 'passed') return awaitingCheck(checked).reduce((next, id) => verified(next, id, now), checked);
  const reopened = reopen(checked, finished, now);
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

/** The task is done: it was finished before, and the check is the evidence that was missing. No call is made or counted for it. */
function verified(state: LaneState, id: TaskId, now: number): LaneState {
  const before = progressOf(state.tasks, id);
  const task = {
    ...before,
    state: 'done' as const,
    reason: null,
    setAside: null,
    doneCommit: state.headCheck?.commit ?? null,
  };
  return withTransition(
    {
      ...state,
      tasks: { ...state.tasks, [id]: task },
      unverified: state.unverified.filter((other) => other !== id),
      currentTask: state.currentTask === id ? null : state.currentTask,
    },
    { at: now, subject: 'task', from: `${id} ${before.state}`, to: 'done', reason: 'verified' },
  );
}

/** The state in which these tasks are not done: nobody has seen them pass where it counts. */
export function reopen(state: LaneState, finished: readonly TaskId[], now: number): LaneState {
  const reopened = finished.reduce<LaneState>((next, id) => {
    const task = { ...progressOf(next.tasks, id), state: 'in-progress' as const, doneCommit: null };
    return withTransition(
      { ...next, tasks: { ...next.tasks, [id]: task } },
      { at: now, subject: 'task', from: `${id} done`, to: 'in-progress', reason: 'not_verified' },
    );
  }, state);
  return {
    ...reopened,
    // What is half done is gone on with first: it may be what the check fails for.
    currentTask: reopened.currentTask ?? finished.at(-1) ?? null,
    unverified: [...reopened.unverified.filter((id) => !finished.includes(id)), ...finished].slice(-MAX_UNVERIFIED),
    unmarked: reopened.unmarked.filter((id) => !finished.includes(id)),
  };
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
