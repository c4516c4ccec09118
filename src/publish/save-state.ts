import { createLease } from '../config/config.ts';
import { hasAnySession } from '../core/lane/session.ts';
import { endRun } from '../core/lane/settle/settle.ts';
import { recordPublished } from '../core/lane/settle/settle-published.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { Outcome } from '../core/outcome.ts';
import { advanceInSnapshot, finishInSnapshot, settleSnapshot } from '../core/snapshot/changes.ts';
import { rememberPullsToo } from '../core/snapshot/stored-pull.ts';
import { nameOfLane } from '../core/tasks/ids.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import { serializeLaneState, findPreviousTranscript, type Work } from '../handover/intake.ts';
import type { SavedReport } from '../handover/report.ts';
import { buildPublishedPull } from '../handover/published-pull.ts';
import { buildStoredRun } from '../handover/stored-run.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { ReleaseResult, SealedTranscript } from '../ports/state.ts';
import { withTimeLimit } from './answers.ts';
import type { PublishDeps } from './deps.ts';

export interface PublishedEnd {
  readonly outcome: Outcome;
  readonly remoteHead: string | null;
  readonly pullRequest: PullRequest | null;
  /** True if branch and pull request both contain what this run did. */
  readonly published: boolean;
}

/** The outcome that applies if the run is killed now. */
const KILLED: Outcome = { kind: 'cancelled', reason: 'killed' };

/**
 * Saves the state before people are notified, so that after a kill the next run knows what the notification is about.
 * Returns the sequence of the newest state.
 */
export async function saveStateFirst(deps: PublishDeps, work: Work, end: PublishedEnd): Promise<number> {
  const { lane, state, stateBefore } = work;
  if (deps.config.stateStore === 'none' || deps.unsaved !== null) return state.sequence;
  // The conversation is stored with the state at the end, so keep the previous one until then.
  const transcript = findPreviousTranscript(stateBefore, state);
  const kept = await deps.store.update(
    advanceInSnapshot({
      lane: lane.id,
      after: state.sequence,
      document: (sequence) =>
        serializeLaneState(endedState(deps, work, { ...end, outcome: KILLED, sequence }), {
          transcript,
          redact: deps.redact,
        }),
      holder: createLease(deps, deps.clock.now()),
    }),
  );
  return (kept.kind === 'updated' ? kept.answer : null) ?? state.sequence;
}

/** Returns the state that matches what is on the remote. */
function endedState(
  { clock }: PublishDeps,
  { lane, state, head }: Work,
  { outcome, remoteHead, pullRequest, published, sequence }: PublishedEnd & { readonly sequence: number },
): LaneState {
  const now = clock.now();
  const ended = endRun({ ...state, sequence, savedAt: now }, outcome, head, now);
  if (!published || remoteHead === null) return ended;
  return recordPublished(ended, {
    head: remoteHead,
    pullRequest: pullRequest === null ? null : { number: pullRequest.number, url: pullRequest.url },
    branch: lane.branch,
  });
}

/** The result of saving; `lane` is the result of releasing the lane. */
interface Saved {
  readonly saved: SavedReport;
  readonly lane: ReleaseResult;
}

/**
 * Saves the state that matches the remote, releases the lane, and replaces the reservation with the actual usage.
 * `isPublished` is true if nothing is left that a later run could publish.
 */
export async function saveState(
  deps: PublishDeps,
  work: Work,
  { isPublished, ...end }: PublishedEnd & { readonly isPublished: boolean },
): Promise<Saved> {
  if (deps.config.stateStore === 'none')
    return { saved: { kind: 'not-saved', why: 'state-store is "none"' }, lane: { kind: 'free' } };
  if (deps.unsaved !== null) {
    deps.log.warning(`The state was not saved: ${completeSentence(deps.unsaved)}`);
    await settleUsage(deps, work, isPublished);
    return { saved: { kind: 'not-saved', why: deps.unsaved }, lane: { kind: 'claimed', why: deps.unsaved } };
  }
  const sequence = work.state.sequence + 1;
  const state = endedState(deps, work, { ...end, sequence });
  const transcript = await exportSessions(deps, state);
  const named = transcript === null ? null : { sha256: transcript.sha256, bytes: transcript.content.length };
  const document = serializeLaneState(state, { transcript: named, redact: deps.redact });
  const now = deps.clock.now();
  const run = { before: work.stateBefore, after: work.state, isPublished };
  const copy = { lane: work.lane.id, sequence, document };
  const { config, context, asked, redact } = deps;
  const stored = buildStoredRun(work, {
    ...{
      agents: config.agent.order,
      context,
      redact,
      outcome: end.outcome,
      requestedBy: asked.by,
      headSha: end.remoteHead,
    },
    pullRequest: end.pullRequest?.number ?? null,
    requests: deps.forge.requests().sent,
    journal: await withTimeLimit(deps.stepWithinMs, deps.packedJournal(work.state.journalHash)).catch(() => null),
  });
  const number = end.pullRequest?.number ?? null;
  const published =
    number === null || end.remoteHead === null
      ? null
      : buildPublishedPull(work, {
          ...{ number, head: end.remoteHead, redact },
          ...{ taskLabel: deps.config.taskLabel, agents: deps.config.agent.order },
        });
  const news = { closed: work.notes.train?.closed ?? [], reverts: work.notes.reverts };
  const finished = finishInSnapshot({ ...copy, saver: createLease(deps, now), now, run, stored });
  const change = rememberPullsToo(finished, published, news);
  const saved = await deps.store.save({ ...copy, transcript }, change, deps.runTag);
  await withTimeLimit(deps.stepWithinMs, deps.keepReceipt(stored)).catch((error: unknown) => {
    deps.log.warning(`The receipt could not be kept: ${completeSentence(getErrorText(error))}`);
  });
  const { lane } = saved;
  if (saved.kind === 'saved') {
    deps.log.info(`state: ${work.notes.restored} … saved #${String(sequence)} (${saved.where})`);
    return { saved: { kind: 'saved', sequence, where: saved.where }, lane };
  }
  deps.log.warning(
    `The state was not saved: ${completeSentence(saved.why)} The next run on this branch starts from the state before this run, or with one probe iteration if no state was ever saved.`,
  );
  return { saved: { kind: 'not-saved', why: saved.why }, lane };
}

/**
 * Exports the transcripts within the time limit, because the state is worth more than the session and must not wait for
 * it.
 */
async function exportSessions(deps: PublishDeps, state: LaneState): Promise<SealedTranscript | null> {
  if (!hasAnySession(state)) return null;
  return withTimeLimit(deps.stepWithinMs, deps.exportSessions(state)).catch((error: unknown) => {
    deps.log.warning(
      `The session is not kept, so the next run starts a new one: ${completeSentence(getErrorText(error))}`,
    );
    return null;
  });
}

/** Replaces the reservation with the actual usage in the repository's counters if the state itself is not saved. */
async function settleUsage(
  { store, context, runTag, clock, log }: PublishDeps,
  work: Work,
  isPublished: boolean,
): Promise<void> {
  const now = clock.now();
  const run = { before: work.stateBefore, after: work.state, isPublished };
  const message = `${nameOfLane(work.lane.id)}: settled by run ${context.runId}`;
  const written = await store.update((newest) => ({
    snapshot: settleSnapshot(newest, run, { runTag, now }),
    message,
    answer: null,
  }));
  if (written.kind === 'unavailable')
    log.warning(
      `What this run used could not be added to the repository's counters: ${completeSentence(written.why)} What it had reserved counts instead: its calls for an hour, its cost for the day.`,
    );
}
