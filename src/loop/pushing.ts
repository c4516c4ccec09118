import type { ObjectId } from '../core/evidence.ts';
import { CONFLICT_TASK } from '../core/feedback/subject.ts';
import { acceptWork } from '../core/refusals/left-out.ts';
import { endRun } from '../core/lane/settle/settle.ts';
import { recordPublished, recordPush } from '../core/lane/settle/settle-published.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { Outcome } from '../core/outcome.ts';
import {
  convertToContentRefusal,
  explainRefusal,
  isForSignatures,
  isKnownRule,
  describePushFailure,
  type Refusal,
} from '../core/refusals/refusal.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { isSettled } from '../core/tasks/task.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { DAY_MS } from '../core/countdown.ts';
import { createLease } from '../config/config.ts';
import { advanceInSnapshot } from '../core/snapshot/changes.ts';
import { getErrorText } from '../errors.ts';
import { clearHead, outcomeOfHeldHead, judgeUnverifiedMerge } from '../handover/clear-head.ts';
import { createOutrunEnd, findOutrun } from '../handover/outrun.ts';
import { pushSigned, type SignDeps } from '../handover/signed.ts';
import { serializeLaneState, findPreviousTranscript, selectStateToBuildOn, type Work } from '../handover/intake.ts';
import type { PushedWithState, PushResult, Remote } from '../ports/remote.ts';
import type { WorkAfterAction, LoopDeps } from './deps.ts';
import {
  recordLeftOutInJournal,
  leaveRefusedOut,
  setAsideIfStillRefused,
  type LeaveOutDeps,
} from './refused/left-out.ts';

/** The dependencies of a push on the outside world. */
type PushDeps = Pick<LoopDeps, 'outlet' | 'clock' | 'log' | 'redact'> & Pick<LeaveOutDeps, 'appendJournal'>;

/** The dependencies of a push that carries the state and leaves out refused content. */
type PushWithStateDeps = PushDeps &
  Pick<LoopDeps, 'config' | 'context' | 'runTag' | 'store' | 'journalHash'> &
  Pick<LeaveOutDeps, 'repository' | 'record'>;

/**
 * Creates the branch before the first call. Probes a push that was refused before, and a merge that the token may not
 * push, because work that cannot be pushed is not worth a call. Does nothing in a loop that hands over, because the
 * gate's job has done it. `base` is the tip of the base branch.
 */
export async function openBranch(deps: PushDeps, work: Work, base: ObjectId): Promise<WorkAfterAction> {
  const { branch, start } = work.lane;
  const { outlet } = deps;
  if (outlet.kind === 'hand-over') return { work, end: null };
  const { remote } = outlet;
  const at = { branch, commit: work.base, since: work.base };
  const { refusedPush } = work.state;
  if (refusedPush !== null) {
    // If a push failed although its probe had succeeded, do not trust probes for a day.
    const isPinned = refusedPush.unprobed === true && Math.abs(deps.clock.now() - refusedPush.at) < DAY_MS;
    if (isPinned) return { work, end: configuration(branch, refusedPush.why) };
    const probed = afterPush(
      deps,
      work,
      await remote.probePush(branch, { at: work.base, since: work.base }).catch(unreachableBy),
    );
    if (probed.end !== null || start.kind === 'continue') return setAsideForbiddenMerge(deps, probed, base);
  }
  if (start.kind === 'continue') return setAsideForbiddenMerge(deps, { work, end: null }, base);
  const made = await makeBranch(remote, { ...at, start }).catch(unreachableBy);
  return afterPush(deps, made.kind === 'pushed' ? { ...work, remoteHead: work.base } : work, made);
}

function makeBranch(
  remote: Pick<Remote, 'push' | 'pushOn'>,
  { start, ...at }: Parameters<Remote['push']>[0],
): Promise<PushResult> {
  switch (start.kind) {
    case 'fresh':
      return remote.pushOn({ ...at, at: null });
    case 'reuse':
      // Move the branch forward to the base, or to a merge of both, which rewrites no commit on it.
      return remote.pushOn({ ...at, at: start.mergedHead });
    default:
      return remote.push({ ...at, start });
  }
}

/**
 * Sets the task of merging the base aside if the server would refuse the merge, and warns with the steps that a person
 * can take.
 */
async function setAsideForbiddenMerge(
  deps: PushDeps,
  opened: WorkAfterAction,
  base: ObjectId,
): Promise<WorkAfterAction> {
  const { work, end } = opened;
  const { outlet } = deps;
  const isAsked = work.tasks.some(({ id, obstacle }) => id === CONFLICT_TASK && obstacle === null);
  if (end !== null || outlet.kind === 'hand-over' || !isAsked) return opened;
  if (isSettled(getProgress(work.state.tasks, CONFLICT_TASK))) return opened;
  const words = await explainForbiddenMerge(deps, work, base);
  if (words === null) return opened;
  deps.log.warning(words);
  const state = recordLeftOutInJournal(deps, work.state, { tasks: [CONFLICT_TASK], files: [], words, tree: null });
  return { work: { ...work, state }, end: null };
}

/**
 * Returns why the server would refuse a merge of the base, and the steps that a person can take; null if it would
 * not.
 */
export async function explainForbiddenMerge(
  { outlet, redact }: PushDeps,
  { lane: { branch, baseBranch }, head }: Work,
  base: ObjectId,
): Promise<string | null> {
  if (outlet.kind === 'hand-over') return outlet.forbiddenMerge;
  const tried = await outlet.remote.probeMerge(branch, { at: head, base }).catch(unreachableBy);
  if (tried.kind !== 'refused') return null;
  const { rule, words } = tried.refusal;
  if (isForSignatures(tried) || rule === 'linear-history')
    return redact(
      `Merging ${baseBranch} would bring commits that the branch does not accept. ${explainRefusal(tried.refusal)}`,
    );
  // Other rules are about the content and the message of the probe, which the merge need not have.
  if (rule !== 'workflow') return null;
  return redact(
    `Merging ${baseBranch} would bring workflow files that this token may not push. Press "Update branch" or "Resolve conflicts" on the pull request, or give the input \`github-token\` a token of a GitHub App with the permission \`workflows: write\`. (The server said: ${words})`,
  );
}

/** Maximum number of attempts of one push; each leaves out the files that were refused before. */
const MAX_TRIES = 5;

/**
 * Pushes the commits of an iteration, so that they are safe on the branch before the next one begins. Leaves out
 * commits or files that the server refuses for their content, and pushes the rest.
 */
export async function pushIteration(deps: PushWithStateDeps, made: Work): Promise<WorkAfterAction> {
  const { outlet } = deps;
  if (outlet.kind === 'hand-over') {
    await outlet.handOver(made);
    return { work: made, end: null };
  }
  if (made.head === (made.remoteHead ?? made.base))
    return { work: await setAsideIfStillRefused(deps, made), end: null };
  const outrun = await findOutrun(deps, made);
  if (outrun !== null) return { work: made, end: createOutrunEnd(outrun) };
  const cleared = await clearHead({ ...deps, forge: outlet.forge }, made);
  if (cleared.kind === 'held') return { work: made, end: outcomeOfHeldHead(made, cleared.why) };
  if (cleared.kind === 'unknown') return afterPush(deps, made, { kind: 'unreachable', why: cleared.why });
  const { remote } = outlet;
  const signing: SignDeps = { ...deps, remote: { sign: (push) => remote.sign(push).catch(unreachableBy) } };
  let left: Work = { ...made, state: { ...made.state, feedback: cleared.feedback } };
  for (let tries = 1; left.head !== (left.remoteHead ?? left.base); tries += 1) {
    const { result, taken } = await pushSigned(signing, left, (signed) => pushOnce(deps, remote, signed));
    const refusal = await contentRefused(remote, taken, result);
    if (refusal === null) {
      const isGone = result.kind === 'moved' && (await isBranchGone(remote, taken));
      const { work: now, end } = afterPush(deps, taken, isGone ? { kind: 'unreachable', why: GONE } : result);
      return { work: end === null ? await setAsideIfStillRefused(deps, now) : now, end };
    }
    left = await leaveRefusedOut({ ...deps, remote }, taken, { refusal, byFile: tries < MAX_TRIES });
  }
  return { work: await setAsideIfStillRefused(deps, left), end: null };
}

/**
 * Returns the refusal if it is about the content of the commits, otherwise null. An unknown rule is about content if
 * the server would accept an empty commit.
 */
async function contentRefused(
  remote: Pick<Remote, 'probePush'>,
  { lane, base, remoteHead }: Work,
  result: PushResult,
): Promise<Refusal | null> {
  if (result.kind !== 'refused') return null;
  const { refusal } = result;
  if (refusal.kind === 'content') return refusal;
  if (isKnownRule(refusal)) return null;
  const at = remoteHead ?? base;
  const probed = await remote.probePush(lane.branch, { at, since: at }).catch(unreachableBy);
  return probed.kind === 'pushed' ? convertToContentRefusal(refusal) : null;
}

/** The reason for leaving the push to the end of the run if it is known why the branch is gone. */
const GONE = 'It was removed while this run worked, as merging a pull request can do.';

async function isBranchGone(remote: Pick<Remote, 'branches'>, { lane: { branch } }: Work): Promise<boolean> {
  const branches = await remote.branches(branch).catch(() => null);
  return branches !== null && branches[branch] === undefined;
}

/** Pushes once, with the state if possible. `taken` is the work after the push. */
async function pushOnce(
  deps: PushWithStateDeps,
  remote: Pick<Remote, 'pushOn' | 'pushWithState'>,
  work: Work,
): Promise<{ readonly result: PushResult; readonly taken: Work }> {
  const { lane, head, remoteHead, base } = work;
  const pushing = { branch: lane.branch, commit: head, since: remoteHead ?? base, at: remoteHead };
  let result: PushResult | null = null;
  const updated = await deps.store.update(
    advanceInSnapshot({
      lane: lane.id,
      after: work.state.sequence,
      document: (sequence) => buildKilledDocument(deps, work, sequence),
      holder: createLease(deps, deps.clock.now()),
    }),
    async (along) => {
      const pushed: PushedWithState = await remote.pushWithState({ ...pushing, along }).catch(unreachableBy);
      if (pushed.kind === 'overtaken') return { kind: 'conflict' };
      result = pushed;
      if (pushed.kind !== 'pushed') return { kind: 'unavailable', why: describePushFailure(pushed) };
      return pushed.state ?? { kind: 'unavailable', why: 'the branch was pushed without it' };
    },
  );
  // The claim may end between the look before and this push, and then the branch is another run's.
  const outrun = updated.kind === 'updated' && updated.answer === null ? await findOutrun(deps, work) : null;
  if (outrun !== null) result = { kind: 'moved', why: outrun };
  // Push the branch alone if there is no state to push with it, or if other runs were faster again and again.
  result ??= await remote.pushOn({ ...pushing, mergesOthers: true }).catch(unreachableBy);
  if (result.kind !== 'pushed') return { result, taken: work };
  const kept = updated.kind === 'updated' ? updated.answer : null;
  const sequence = kept ?? work.state.sequence;
  const words = kept === null ? '' : `, and state #${String(sequence)} with it`;
  deps.log.info(`pushed ${head.slice(0, 7)} to ${lane.branch}${words}`);
  if (updated.kind === 'unguarded' && deps.config.stateStore !== 'cache' && deps.config.stateStore !== 'none')
    deps.log.info(
      `The state cannot be pushed with the commits, so it is saved at the end: ${completeSentence(updated.why)}`,
    );
  const state = { ...acceptWork(work.state), sequence };
  const lastPublished = { state, iterations: work.journal.length };
  const taken = { ...work, state, remoteHead: head, lastPublished };
  const { merged } = result;
  if (merged === undefined) return { result, taken };
  if (deps.repository === null)
    return { result, taken: { ...judgeUnverifiedMerge(taken, merged, deps), remoteHead: merged } };
  await deps.repository.takeHead({ head: merged, refused: [], workTree: 'updated' });
  const atMerge = { ...taken, head: merged, remoteHead: merged, cleanVerification: null };
  deps.record?.(atMerge);
  return { result, taken: atMerge };
}

/**
 * Hands over the commits of an unfinished iteration. Does nothing in a run that pushes, whose post step publishes what
 * a killed job left on disk.
 */
export async function handOverNow({ outlet }: Pick<LoopDeps, 'outlet'>, work: Work): Promise<void> {
  if (outlet.kind === 'hand-over') await outlet.handOver(work);
}

/**
 * Creates the hand-over of the usage of a running call, so that a killed job of the loop loses none of it. Does nothing
 * in a run that pushes, whose post step reads the record on disk. `given` settles when nothing is being written.
 */
export function createLiveHandOver({ outlet }: Pick<LoopDeps, 'outlet'>): {
  readonly give: (work: Work) => void;
  readonly given: () => Promise<void>;
} {
  let next: Work | null = null;
  let given = Promise.resolve();
  return {
    give: (work) => {
      const isWaiting = next !== null;
      next = work;
      // Write one parcel after another, and of those that wait only the newest.
      if (!isWaiting)
        given = given.then(async () => {
          const newest = next ?? work;
          next = null;
          // Ignore a failure, which the hand-over at the end of the call meets as well.
          await handOverNow({ outlet }, newest).catch(() => undefined);
        });
    },
    given: () => given,
  };
}

/**
 * Returns the document of the state that applies if the run is killed right after this push. It names the stored
 * conversation, because the current one is not stored yet.
 */
export function buildKilledDocument(
  deps: Pick<PushWithStateDeps, 'config' | 'clock' | 'redact' | 'journalHash'>,
  work: Work,
  sequence: number,
): string {
  const { lane, head, stateBefore } = work;
  const now = deps.clock.now();
  const finished: LaneState = {
    ...recordPush(selectStateToBuildOn(work, deps.config.policy, now), null, now),
    sequence,
    savedAt: now,
    journalHash: deps.journalHash(),
  };
  const ended = endRun(finished, { kind: 'cancelled', reason: 'killed' }, head, now);
  const pullRequest = lane.pullRequest === null ? null : { number: lane.pullRequest.number, url: lane.pullRequest.url };
  return serializeLaneState(recordPublished(ended, { head, pullRequest, branch: lane.branch }), {
    transcript: findPreviousTranscript(stateBefore, ended),
    redact: deps.redact,
  });
}

function afterPush(deps: Pick<PushDeps, 'clock' | 'log'>, work: Work, pushed: PushResult): WorkAfterAction {
  const { branch } = work.lane;
  const now = deps.clock.now();
  switch (pushed.kind) {
    case 'pushed':
      return { work: { ...work, state: recordPush(work.state, null, now) }, end: null };
    case 'unreachable':
      deps.log.warning(
        `Branch ${branch} could not be pushed, so the next push includes this iteration: ${completeSentence(pushed.why)}`,
      );
      return { work, end: null };
    case 'moved':
      return { work, end: failed(`Branch ${branch} cannot be pushed. ${completeSentence(pushed.why)}`) };
    case 'rejected':
      return {
        work: { ...work, state: recordPush(work.state, { why: pushed.why }, now) },
        end: failed(noFurtherCall(branch, pushed.why)),
      };
    case 'refused': {
      const why = explainRefusal(pushed.refusal);
      // True if this run's probe was accepted although the push itself is refused.
      const unprobed = work.stateBefore.refusedPush !== null && work.state.refusedPush === null;
      return {
        work: { ...work, state: recordPush(work.state, { why, ...(unprobed ? { unprobed } : {}) }, now) },
        end: configuration(branch, why),
      };
    }
  }
}

function noFurtherCall(branch: string, why: string): string {
  return `Branch ${branch} cannot be pushed, so no further call is made until it can. ${completeSentence(why)}`;
}

/** Returns the outcome of a refused push, which a person must resolve by changing the rule. */
function configuration(branch: string, why: string): Outcome {
  return { kind: 'failed', reason: 'configuration', message: noFurtherCall(branch, why) };
}

/** Treats an error as an unreachable server: the commits wait for the next push. */
export function unreachableBy(error: unknown): Extract<PushResult, { kind: 'unreachable' }> {
  return { kind: 'unreachable', why: getErrorText(error) };
}

function failed(message: string): Outcome {
  return { kind: 'failed', reason: 'infrastructure', message };
}
