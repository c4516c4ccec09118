import type { ObjectId } from '../core/evidence.ts';
import { CONFLICT_TASK } from '../core/feedback/subject.ts';
import { serializeLeftOut } from '../core/journal/journal.ts';
import { acceptWork, recordLeftOut } from '../core/refusals/left-out.ts';
import { endRun, recordPublished, recordPush } from '../core/lane/settle.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Outcome } from '../core/outcome.ts';
import { explainRefusal, isNamed, type Refusal } from '../core/refusals/refusal.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { isSettled } from '../core/tasks/task.ts';
import { sentence } from '../core/text/sentence.ts';
import { DAY_MS } from '../core/time.ts';
import { textOf } from '../errors.ts';
import { clearHead } from '../handover/clear-head.ts';
import { documentOf, transcriptBefore, verifiedState } from '../handover/stored.ts';
import type { Work } from '../handover/work.ts';
import type { PushedOn, PushResult, Remote } from '../ports/repository.ts';
import type { LoopDeps } from './deps.ts';
import { leaveRefusedOut, waitIfStillRefused, type LeaveOutDeps } from './refused/left-out.ts';

/** The work, and why the run ends here; null: it continues. */
export interface Pushed {
  readonly work: Work;
  readonly end: Outcome | null;
}

/** What pushing needs of the world. */
type PushDeps = Pick<LoopDeps, 'outlet' | 'clock' | 'log' | 'redact'> & Pick<LeaveOutDeps, 'appendJournal'>;

/** What pushing needs of it that takes the state along, and leaves out what the server refuses. */
type RideDeps = PushDeps &
  Pick<LoopDeps, 'config' | 'store' | 'journalHash'> &
  Pick<LeaveOutDeps, 'repository' | 'record'>;

/** Before the first call: makes the branch, tries a push that was refused before, and a merge that a token may not push. What nobody may push is not worth a call. The gate's job has done it for a loop that hands over. `base`: tip of the base branch. */
export async function openBranch(deps: PushDeps, work: Work, base: ObjectId): Promise<Pushed> {
  const { branch, start } = work.lane;
  const { outlet } = deps;
  if (outlet.kind === 'hand-over') return { work, end: null };
  const { remote } = outlet;
  const at = { branch, commit: work.base, since: work.base };
  const { refusedPush } = work.state;
  if (refusedPush !== null) {
    // A probe that a later push proved wrong is not believed again for a day.
    const isPinned = refusedPush.unprobed === true && deps.clock.now() - refusedPush.at < DAY_MS;
    if (isPinned) return { work, end: configuration(branch, refusedPush.why) };
    const probed = concluded(deps, work, await remote.probePush(branch, work.base).catch(unanswered));
    if (probed.end !== null || start.kind === 'continue') return merging(deps, probed, base);
  }
  if (start.kind === 'continue') return merging(deps, { work, end: null }, base);
  const made = await makeBranch(remote, { ...at, start }).catch(unanswered);
  return concluded(deps, made.kind === 'pushed' ? { ...work, remoteHead: work.base } : work, made);
}

function makeBranch(
  remote: Pick<Remote, 'push' | 'pushOn'>,
  { start, ...at }: Parameters<Remote['push']>[0],
): Promise<PushResult | PushedOn> {
  switch (start.kind) {
    case 'fresh':
      return remote.pushOn({ ...at, at: null, along: null });
    case 'reuse':
      // The branch moves on to the base, or to a merge of both: nothing on it is rewritten.
      return remote.pushOn({ ...at, at: start.mergedHead, along: null });
    default:
      return remote.push({ ...at, start });
  }
}

/** A merge of the base that the server would refuse is not worth a call: a person is told what helps instead. */
async function merging(deps: PushDeps, opened: Pushed, base: ObjectId): Promise<Pushed> {
  const { work, end } = opened;
  const { outlet } = deps;
  const isAsked = work.tasks.some(({ id, obstacle }) => id === CONFLICT_TASK && obstacle === null);
  if (end !== null || outlet.kind === 'hand-over' || !isAsked) return opened;
  if (isSettled(progressOf(work.state.tasks, CONFLICT_TASK))) return opened;
  const tried = await outlet.remote.probeMerge(work.lane.branch, { at: work.base, base }).catch(unanswered);
  if (tried.kind !== 'refused') return opened;
  const { baseBranch } = work.lane;
  const words = deps.redact(
    `Merging ${baseBranch} would bring workflow files that this token may not push. Press "Update branch" or "Resolve conflicts" on the pull request, or give the input \`github-token\` a token of a GitHub App with the permission \`workflows: write\`. (The server said: ${tried.refusal.words})`,
  );
  deps.log.warning(words);
  const now = deps.clock.now();
  const left = { tasks: [CONFLICT_TASK], files: [], words, tree: null };
  deps.appendJournal?.(serializeLeftOut({ version: 1, lane: work.lane.id, leftOutAt: now, ...left }));
  return { work: { ...work, state: recordLeftOut(work.state, left, now) }, end: null };
}

/** One push is tried again without refused files at most this often. */
const MAX_TRIES = 5;

/** After an iteration: what it made is safe on the branch before the next one begins. What the server refuses of it for its content is left out, and the rest is pushed. */
export async function pushIteration(deps: RideDeps, made: Work): Promise<Pushed> {
  const { outlet } = deps;
  if (outlet.kind === 'hand-over') {
    await outlet.handOver(made);
    return { work: made, end: null };
  }
  if (made.head === (made.remoteHead ?? made.base)) return { work: await waitIfStillRefused(deps, made), end: null };
  const cleared = await clearHead({ ...deps, forge: outlet.forge }, made);
  if (cleared.kind === 'held') return { work: made, end: heldHead(made, cleared.why) };
  if (cleared.kind === 'unknown') return concluded(deps, made, { kind: 'unreachable', why: cleared.why });
  const { remote } = outlet;
  let left: Work = { ...made, state: { ...made.state, feedback: cleared.feedback } };
  for (let tries = 1; left.head !== (left.remoteHead ?? left.base); tries += 1) {
    const { result, taken } = await pushOnce(deps, remote, left);
    const refusal = await contentRefused(remote, left, result);
    if (refusal === null) {
      const { work: now, end } = concluded(deps, taken, result);
      return { work: end === null ? await waitIfStillRefused(deps, now) : now, end };
    }
    left = await leaveRefusedOut({ ...deps, remote }, left, { refusal, byFile: tries < MAX_TRIES });
  }
  return { work: await waitIfStillRefused(deps, left), end: null };
}

/** The refusal, where the server judged what the commits hold. Of a rule that nobody knows, an empty commit tells: where that is taken, it was the content. */
async function contentRefused(
  remote: Pick<Remote, 'probePush'>,
  { lane, base, remoteHead }: Work,
  result: PushResult | PushedOn,
): Promise<Refusal | null> {
  if (result.kind !== 'refused') return null;
  const { refusal } = result;
  if (refusal.kind === 'content') return refusal;
  if (isNamed(refusal)) return null;
  const probed = await remote.probePush(lane.branch, remoteHead ?? base).catch(unanswered);
  return probed.kind === 'pushed' ? { ...refusal, kind: 'content' } : null;
}

/** `taken`: the work that knows of the push. */
async function pushOnce(
  deps: RideDeps,
  remote: Pick<Remote, 'pushOn'>,
  work: Work,
): Promise<{ readonly result: PushedOn; readonly taken: Work }> {
  const { lane, head, remoteHead, base } = work;
  const ride = await deps.store.ride(lane.id, {
    after: work.state.sequence,
    document: (sequence) => documentOnTheWay(deps, work, sequence),
  });
  const pushed = await remote
    .pushOn({
      branch: lane.branch,
      commit: head,
      since: remoteHead ?? base,
      at: remoteHead,
      along: ride?.passenger ?? null,
    })
    .catch(unanswered);
  const written = pushed.kind === 'pushed' ? pushed.along : null;
  ride?.landed(written ?? { kind: 'unavailable', why: 'the push did not go through' });
  if (pushed.kind !== 'pushed') return { result: pushed, taken: work };
  const sequence = written?.kind === 'written' && ride !== null ? ride.sequence : work.state.sequence;
  const kept = written?.kind === 'written' ? `, and state #${String(sequence)} with it` : '';
  deps.log.info(`pushed ${head.slice(0, 7)} to ${lane.branch}${kept}`);
  if (written?.kind === 'refused')
    deps.log.info(`The state cannot be pushed with the commits, so it is saved at the end: ${sentence(written.why)}`);
  const state = { ...acceptWork(work.state), sequence };
  const safe = { state, iterations: work.journal.length };
  return { result: pushed, taken: { ...work, state, remoteHead: head, safe } };
}

/** Keeps what an unfinished iteration has committed, where nobody would find it on this machine's disk: what a killed job has pushed or recorded is published by post. */
export async function keepNow({ outlet }: Pick<LoopDeps, 'outlet'>, work: Work): Promise<void> {
  if (outlet.kind === 'hand-over') await outlet.handOver(work);
}

/** The state that holds if this is the last that is heard of the run: killed right behind this push, of the conversation nothing newer than what is stored. */
export function documentOnTheWay(
  deps: Pick<RideDeps, 'config' | 'clock' | 'redact' | 'journalHash'>,
  work: Work,
  sequence: number,
): string {
  const { lane, head, stateBefore } = work;
  const now = deps.clock.now();
  const finished: LaneState = {
    ...recordPush(verifiedState(work, deps.config.policy, now), null, now),
    sequence,
    savedAt: now,
    journalHash: deps.journalHash(),
  };
  const ended = endRun(finished, { kind: 'cancelled', reason: 'killed' }, head, now);
  const pullRequest = lane.pullRequest === null ? null : { number: lane.pullRequest.number, url: lane.pullRequest.url };
  return documentOf(recordPublished(ended, { head, pullRequest }), {
    transcript: transcriptBefore(stateBefore, ended),
    redact: deps.redact,
  });
}

function concluded(deps: Pick<PushDeps, 'clock' | 'log'>, work: Work, pushed: PushResult | PushedOn): Pushed {
  const { branch } = work.lane;
  const now = deps.clock.now();
  switch (pushed.kind) {
    case 'pushed':
      return { work: { ...work, state: recordPush(work.state, null, now) }, end: null };
    case 'unreachable':
      deps.log.warning(
        `Branch ${branch} could not be pushed, so the next push includes this iteration: ${sentence(pushed.why)}`,
      );
      return { work, end: null };
    case 'moved':
      return { work, end: failed(`Branch ${branch} cannot be pushed. ${sentence(pushed.why)}`) };
    case 'rejected':
      return {
        work: { ...work, state: recordPush(work.state, { why: pushed.why }, now) },
        end: failed(noFurtherCall(branch, pushed.why)),
      };
    case 'refused': {
      const why = explainRefusal(pushed.refusal);
      // The probe of this run had said that the server takes it.
      const unprobed = work.stateBefore.refusedPush !== null && work.state.refusedPush === null;
      return {
        work: { ...work, state: recordPush(work.state, { why, ...(unprobed ? { unprobed } : {}) }, now) },
        end: configuration(branch, why),
      };
    }
  }
}

function noFurtherCall(branch: string, why: string): string {
  return `Branch ${branch} cannot be pushed, so no further call is made until it can. ${sentence(why)}`;
}

/** A rule stays until a person changes it. */
function configuration(branch: string, why: string): Outcome {
  return { kind: 'failed', reason: 'configuration', message: noFurtherCall(branch, why) };
}

/** Nothing is lost by an error: the commits wait for the next push. */
function unanswered(error: unknown): Extract<PushResult, { kind: 'unreachable' }> {
  return { kind: 'unreachable', why: textOf(error) };
}

function heldHead({ lane: { pullRequest } }: Work, why: string): Outcome {
  const name = `pull request #${String(pullRequest?.number ?? 0)}`;
  return {
    kind: 'failed',
    reason: 'configuration',
    message: `Nothing more is pushed to ${name}: people approved it or set it to be merged while this run worked, and that could not be taken back. ${sentence(why)} Switch auto-merge off and make it a draft by hand, or merge it: then the next run continues.`,
  };
}

function failed(message: string): Outcome {
  return { kind: 'failed', reason: 'infrastructure', message };
}
