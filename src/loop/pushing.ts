import { endRun, recordPublished, recordPush } from '../core/lane/settle.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Outcome } from '../core/outcome.ts';
import { sentence } from '../core/text/sentence.ts';
import { textOf } from '../errors.ts';
import { clearHead } from '../handover/clear-head.ts';
import { documentOf, transcriptBefore, verifiedState } from '../handover/stored.ts';
import type { Work } from '../handover/work.ts';
import type { PushedOn, PushResult } from '../ports/repository.ts';
import type { LoopDeps } from './deps.ts';

/** The work, and why the run ends here; null: it continues. */
export interface Pushed {
  readonly work: Work;
  readonly end: Outcome | null;
}

/** What pushing needs of the world. */
type PushDeps = Pick<LoopDeps, 'outlet' | 'clock' | 'log'>;

/** What pushing needs of it that takes the state along. */
type RideDeps = PushDeps & Pick<LoopDeps, 'config' | 'store' | 'redact' | 'journalHash'>;

/** Before the first call: makes the branch, or tries a push that was refused before. What nobody may push is not worth a call. The gate's job has done it for a loop that hands over. */
export async function openBranch(deps: PushDeps, work: Work): Promise<Pushed> {
  const { branch, start } = work.lane;
  const { outlet } = deps;
  if (outlet.kind === 'hand-over') return { work, end: null };
  const { remote } = outlet;
  const at = { branch, commit: work.base, since: work.base };
  if (start.kind === 'continue') {
    if (work.state.refusedPush === null) return { work, end: null };
    return concluded(deps, work, await remote.probePush(branch, work.base).catch(unanswered));
  }
  const made = await (
    start.kind === 'fresh' ? remote.pushOn({ ...at, at: null, along: null }) : remote.push({ ...at, start })
  ).catch(unanswered);
  return concluded(deps, made.kind === 'pushed' ? { ...work, remoteHead: work.base } : work, made);
}

/** After an iteration: what it made is safe on the branch before the next one begins. */
export async function pushIteration(deps: RideDeps, made: Work): Promise<Pushed> {
  const { lane, head, remoteHead, base } = made;
  const { outlet } = deps;
  if (outlet.kind === 'hand-over') {
    await outlet.handOver(made);
    return { work: made, end: null };
  }
  if (head === (remoteHead ?? base)) return { work: made, end: null };
  const cleared = await clearHead({ ...deps, forge: outlet.forge }, made);
  if (cleared.kind === 'held') return { work: made, end: heldHead(made, cleared.why) };
  if (cleared.kind === 'unknown') return concluded(deps, made, { kind: 'unreachable', why: cleared.why });
  const work = { ...made, state: { ...made.state, feedback: cleared.feedback } };
  const ride = await deps.store.ride(lane.id, {
    after: work.state.sequence,
    document: (sequence) => documentOnTheWay(deps, work, sequence),
  });
  const pushed = await outlet.remote
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
  if (pushed.kind !== 'pushed') return concluded(deps, work, pushed);
  const sequence = written?.kind === 'written' && ride !== null ? ride.sequence : work.state.sequence;
  const kept = written?.kind === 'written' ? `, and state #${String(sequence)} with it` : '';
  deps.log.info(`pushed ${head.slice(0, 7)} to ${lane.branch}${kept}`);
  if (written?.kind === 'refused')
    deps.log.info(`The state cannot be pushed with the commits, so it is saved at the end: ${sentence(written.why)}`);
  const state = { ...work.state, sequence };
  const safe = { state, iterations: work.journal.length };
  return concluded(deps, { ...work, state, remoteHead: head, safe }, pushed);
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

function concluded(deps: PushDeps, work: Work, pushed: PushResult | PushedOn): Pushed {
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
        work: { ...work, state: recordPush(work.state, pushed.why, now) },
        end: failed(
          `Branch ${branch} cannot be pushed, so no further call is made until it can. ${sentence(pushed.why)}`,
        ),
      };
  }
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
