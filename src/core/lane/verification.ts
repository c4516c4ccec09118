import { HOUR_MS } from '../countdown.ts';
import type { ObjectId, Verification } from '../evidence.ts';
import type { TaskId } from '../tasks/ids.ts';
import { getProgress } from '../tasks/queue.ts';
import { isFinished, type QueuedTask, type TaskProgress } from '../tasks/task.ts';
import { renderPlainProof, type Proof, describeProof } from '../proof/proof.ts';
import { capText } from '../text/phrase.ts';
import { unknownFrom } from './base/red-base.ts';
import { withProof } from './change.ts';
import { noSignals } from './circuit.ts';
import { type LaneState, MAX_UNPROVEN, MAX_UNPROVEN_CHARS, type VerificationRecord } from './state/state.ts';
import { withTransition } from './session.ts';

/** The subject of a verification: a commit and the hash of the verify commands. */
export type VerificationSubject = Pick<VerificationRecord, 'commit' | 'commands'>;

/** Returns the record of a verification in a clean clone, or null if the verification has no result. */
export function buildVerificationRecord(
  subject: VerificationSubject,
  verification: Verification,
): VerificationRecord | null {
  switch (verification.kind) {
    case 'not-run':
      return null;
    case 'passed':
      return { ...subject, kind: 'passed', command: null, exitCode: 0 };
    case 'failed':
      return { ...subject, kind: 'failed', command: verification.command.slice(0, 200), exitCode: verification.code };
  }
}

/** Returns the subject for these commands at this commit. `sha256` returns the hash of a text in hex digits. */
export function buildVerificationSubject(
  verify: readonly string[],
  { commit, sha256 }: { readonly commit: ObjectId; readonly sha256: (text: string) => string },
): VerificationSubject {
  return { commit, commands: sha256(verify.join('\n')).slice(0, 32) };
}

/** Returns true if a verification ran these commands at this commit. */
export function matchesVerification(
  record: VerificationRecord | null,
  { commit, commands }: VerificationSubject,
): boolean {
  return record?.commit === commit && record.commands === commands;
}

/**
 * Matches the messages of shells, interpreters, package managers and build tools about a missing command, script or
 * task.
 */
const MISSING_COMMAND: readonly RegExp[] = [
  /missing script:/i,
  /^(?:npm (?:ERR!|error) )?Unknown command: "/m,
  /npm (?:ERR!|error) (?:could not determine executable to run|enoent Could not read package\.json|404 Not Found - GET )/,
  /npm (?:ERR!|error) The `npm ci` command can only install with an existing package-lock\.json/,
  /ERR_PNPM_NO_(?:SCRIPT|PKG_MANIFEST|IMPORTER_MANIFEST_FOUND|LOCKFILE)|ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\s+Command "[^"]*" not found/,
  /^error Command "[^"]*" not found\.?$/im,
  /^Usage Error: (?:Couldn't find a script named|The project in )/m,
  /^error: (?:Script|Task) not found/im,
  /No rule to make target/,
  /could not find a Makefile|No targets specified and no makefile found/i,
  /^error: (?:no such (?:sub)?command|Justfile does not contain|unrecognized subcommand|Failed to spawn:)/im,
  /^go:? \S+: unknown command|^go: go\.mod file not found/m,
  /^error: could not find `?Cargo\.toml`?|^Could not locate Gemfile|MSBUILD : error MSB1003/m,
  /^Task '[^']*' not found in (?:root )?project/m,
  /Unknown lifecycle phase "/,
  /^\*\* \(Mix\) The task "[^"]*" could not be found/m,
  /^Don't know how to build task '/m,
  /^\s*Command "[^"]*" is not defined/m,
  /^bundler: command not found:/m,
  /^git: '[^']*' is not a git command/m,
  // Interpreters themselves report a missing file in this form; a program's traceback looks different.
  /(?:^|\/)python[\d.]*: (?:can't open file|No module named )/m,
  /^(?:\S*\/)?(?:ba|da|z|k)?sh: (?:\d+: )?(?:cannot open|can't open|\S+: (?:cannot open|No such file or directory))/im,
  /^bash: line \d+: (?:cd: [^\n:]+|\S+\.sh): No such file or directory/m,
  /^Can't open perl script "/m,
  /^ruby: No such file or directory -- /m,
  /^Could not open input file: /m,
  /^(?:ERROR: file or directory not found: |Could not find '[^']*'$)/m,
  /^error: Module not found "file:/im,
  // Node prints an empty require stack only for a main script.
  /Cannot find module '[^']*'[^]{0,2000}code: 'MODULE_NOT_FOUND',\s*requireStack: \[\]/,
];

/**
 * Returns true if a failed verification is not about the code, because its command cannot run at all (a shell's exit
 * codes 126 and 127, or such a message).
 */
export function hasUnrunnableCommand(verification: Verification): boolean {
  if (verification.kind !== 'failed') return false;
  return (
    verification.code === 127 ||
    verification.code === 126 ||
    MISSING_COMMAND.some((pattern) => pattern.test(verification.tail))
  );
}

/**
 * Returns the tasks that a verification of the head decides: the finished ones or, if a complete lane has none, all
 * done tasks of the branch.
 */
export function listVerifiedTasks(state: LaneState, isComplete: boolean): readonly TaskId[] {
  const { tasks, change } = state;
  const finished = finishedIn(state).filter((id) => !isAnsweredUnchanged(state, id));
  return finished.length > 0 || !isComplete
    ? finished
    : Object.keys(change.tasks).filter((id) => getProgress(tasks, id).state === 'done');
}

function finishedIn({ tasks }: Pick<LaneState, 'tasks'>): readonly TaskId[] {
  return Object.keys(tasks).filter((id) => tasks[id]?.state === 'finished');
}

/** Returns true if a feedback task was answered without a change, which leaves no commit to prove. */
function isAnsweredUnchanged({ feedback: { items } }: LaneState, id: TaskId): boolean {
  return Object.hasOwn(items, id) && items[id]?.answer?.kind === 'unchanged';
}

/** Returns the tasks that are done as soon as a verification of the head passes. */
export function listUnverifiedTasks({ tasks }: Pick<LaneState, 'tasks'>): readonly TaskId[] {
  return Object.keys(tasks).filter((id) => tasks[id]?.unproven === true);
}

/** Returns true if this commit failed in a clean clone. */
export function isKnownRed({ headVerification }: LaneState, commit: ObjectId): boolean {
  return headVerification?.kind === 'failed' && headVerification.commit === commit;
}

/**
 * Returns the tasks that await a verification and that another call cannot help: the work tree fails as well, possibly
 * because of another task in progress.
 */
export function listTasksHeldByOthers(state: LaneState, tasks: readonly QueuedTask[]): readonly TaskId[] {
  if (state.change.failingSince === null) return [];
  const awaiting = listUnverifiedTasks(state);
  const isHalfDone = tasks.some(({ id }) => {
    const progress = getProgress(state.tasks, id);
    return progress.attempts > 0 && !isFinished(progress) && !awaiting.includes(id);
  });
  return isHalfDone ? awaiting : [];
}

/**
 * Returns the state that others may build on: a finished task becomes done if its commit is proven or needs no proof,
 * and is otherwise reopened.
 */
export function settleFinished(state: LaneState, isProven: boolean, now: number): LaneState {
  const settled = isProven
    ? state
    : reopenTasks(state, listVerifiedTasks(state, false), { reason: 'not_verified', now });
  return makeDone(settled, { ids: finishedIn(settled), reason: 'done', now });
}

/**
 * Returns the state after the published head was verified in a clean clone. `finished` are the tasks that a failure
 * reopens.
 */
export function recordHeadVerification(
  state: LaneState,
  { record, finished }: { readonly record: VerificationRecord; readonly finished: readonly TaskId[] },
  now: number,
): LaneState {
  const recorded: LaneState = { ...state, headVerification: record };
  if (record.kind === 'passed')
    return makeDone(recorded, {
      ids: [...finishedIn(recorded), ...listUnverifiedTasks(recorded)],
      reason: 'verified',
      now,
    });
  const reopened = reopenTasks(recorded, finished, { reason: 'not_verified', now });
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

export interface TaskProof {
  readonly task: TaskId;
  readonly proof: Proof;
}

/**
 * Returns the state with proofs added. Proofs decide nothing; the next prompt names the tests that prove too little.
 */
export function recordProofs(state: LaneState, proofs: readonly TaskProof[]): LaneState {
  const change = proofs.reduce((next, { task, proof }) => withProof(next, task, proof), state.change);
  const unproven = proofs.flatMap(({ task, proof }) =>
    describeProof(proof)
      .filter(({ concern }) => concern !== null)
      .map((sentence) => capText(`${task}: ${renderPlainProof(sentence)}`, MAX_UNPROVEN_CHARS)),
  );
  const { lastIteration } = state;
  return {
    ...state,
    change,
    lastIteration:
      lastIteration === null || unproven.length === 0
        ? lastIteration
        : { ...lastIteration, unproven: unproven.slice(0, MAX_UNPROVEN) },
  };
}

/**
 * Marks tasks as done whose commit is proven or needs no proof. No other code marks a task as done, and no call is made
 * or counted.
 */
function makeDone(
  state: LaneState,
  { ids, reason, now }: { readonly ids: readonly TaskId[]; readonly reason: 'verified' | 'done'; readonly now: number },
): LaneState {
  return ids.reduce((next, id) => {
    const before = getProgress(next.tasks, id);
    const doneCommit = before.unproven === true ? (next.headVerification?.commit ?? null) : before.doneCommit;
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

/**
 * Reopens finished or done tasks, because no verification of the head passed or a person withdrew them. No other code
 * reopens them.
 */
export function reopenTasks(
  state: LaneState,
  ids: readonly TaskId[],
  { reason, now }: { readonly reason: 'not_verified' | 'withdrawn'; readonly now: number },
): LaneState {
  const isWanted = reason === 'not_verified';
  const reopened = ids.reduce<LaneState>((next, id) => {
    const before = getProgress(next.tasks, id);
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
  // A task in progress continues first, because it may be what makes the verification fail.
  return isWanted ? { ...reopened, currentTask: reopened.currentTask ?? ids.at(-1) ?? null } : reopened;
}

/**
 * Returns the state of a lane on whose newest head no verification has run: tasks finished since `before` wait for one.
 */
export function reopenDoneSince(state: LaneState, before: LaneState, now: number): LaneState {
  const ids = Object.keys(state.tasks).filter(
    (id) =>
      isFinished(getProgress(state.tasks, id)) &&
      !isFinished(getProgress(before.tasks, id)) &&
      !isAnsweredUnchanged(state, id),
  );
  return ids.length === 0 ? state : reopenTasks(state, ids, { reason: 'not_verified', now });
}

/**
 * Returns true if the base's result for this subject is known, so that `verify` need not run. States of earlier
 * versions lack the failures of a red base.
 */
export function isBaseKnown(state: LaneState, subject: VerificationSubject): boolean {
  const { baseVerification, redBase } = state;
  if (!matchesVerification(baseVerification, subject) || findUnknownCommand(state, subject) !== null) return false;
  return baseVerification?.kind === 'passed' || (redBase !== null && redBase.stage !== 'reverify');
}

/**
 * Returns the index of the command from which the red base must be verified again, or null if all commands must run.
 * The commands before it ran on the same base, and iterations have fixed them since.
 */
export function findUnknownCommand(
  { baseVerification, redBase }: LaneState,
  subject: VerificationSubject,
): number | null {
  return matchesVerification(baseVerification, subject) ? unknownFrom(redBase) : null;
}

/**
 * Returns the state after an iteration failed to fix the red base: no more calls are made. Its attempt was given back,
 * so the next failure of this kind is counted as the first one.
 */
export function stopForRedBase(state: LaneState): LaneState {
  const { lastIteration: last, redBase } = state;
  if (redBase === null) return state;
  const lastIteration = last?.failed === undefined ? last : { ...last, failed: { ...last.failed, times: 0 } };
  return { ...state, lastIteration, redBase: { ...redBase, stage: 'tried' } };
}

/**
 * Time in ms after which an unchanged red base is verified again without a call, because a network or a service may
 * have caused the failure. Outages last for hours, and each verification takes machine time.
 */
const REVERIFY_MS = 6 * HOUR_MS;

/**
 * Returns the state of a lane that waits for its base, at the start of a run. A person's request allows one more
 * attempt. The base is verified again after some time, or if it or `verify` changed.
 */
export function reconsiderBase(
  state: LaneState,
  now: {
    readonly asked: boolean;
    readonly subject: VerificationSubject;
    readonly verifies: boolean;
    readonly at: number;
  },
): LaneState {
  const { redBase, lastRun } = state;
  if (redBase === null) return state;
  if (!now.verifies) return { ...state, redBase: null };
  if (redBase.stage !== 'tried') return state;
  if (now.asked) return { ...state, redBase: { ...redBase, stage: 'found' } };
  const isSame = redBase.commit === now.subject.commit && redBase.commands === now.subject.commands;
  // `lastRun` leaves out runs that end in the gate, so runs that only wait do not postpone the next verification.
  const isRecent = lastRun !== null && Math.abs(now.at - lastRun.at) < REVERIFY_MS;
  return isSame && isRecent ? state : { ...state, redBase: { ...redBase, stage: 'reverify' } };
}
