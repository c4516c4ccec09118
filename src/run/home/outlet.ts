import { endRun } from '../../core/lane/settle/settle.ts';
import { discountProgress, recordPublished } from '../../core/lane/settle/settle-published.ts';
import { createLease } from '../../config/config.ts';
import { advanceInSnapshot, finishInSnapshot } from '../../core/snapshot/changes.ts';
import { hasAnySession } from '../../core/lane/session.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { Outcome } from '../../core/outcome.ts';
import { describePushFailure } from '../../core/refusals/refusal.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { SavedReport } from '../../handover/report.ts';
import { serializeLaneState, selectStateToBuildOn, type Work } from '../../handover/intake.ts';
import { buildKilledDocument, unreachableBy } from '../../loop/pushing.ts';
import type { LoopDeps } from '../../loop/deps.ts';
import { buildStoredRun } from '../../handover/stored-run.ts';
import { packJournal } from '../packed-journal.ts';
import type { PushResult, Remote } from '../../ports/remote.ts';
import type { StateStore, SealedTranscript } from '../../ports/state.ts';

interface OutletDeps extends Pick<LoopDeps, 'config' | 'context' | 'clock' | 'log' | 'redact' | 'journalHash'> {
  readonly remote: Pick<Remote, 'push' | 'pushOn'>;
  readonly store: Pick<StateStore, 'update' | 'save'>;
  readonly runTag: string;
  readonly readJournal: () => string | null;
}

/**
 * The destination of a run's work at home: commits go to the branch in the person's repository, and the state is saved
 * next to it.
 */
export interface HomeOutlet {
  /**
   * Keeps the work after each iteration and each commit within one, so that the next run finds it even if this process
   * is killed. Throws a UserError if the branch does not accept it.
   */
  readonly keep: (work: Work) => Promise<void>;
  /** Saves the work at the end of the run, regardless of the outcome, and releases the lane. */
  readonly end: (work: Work, session: (state: LaneState) => Promise<SealedTranscript | null>) => Promise<EndedAtHome>;
}

/** The work as it ended. `headSha` is the tip of the branch, or null if none. */
interface EndedAtHome {
  readonly work: Work;
  readonly headSha: string | null;
  readonly saved: SavedReport;
}

/**
 * Creates the place to which the loop of a run at home delivers its work. `begun` is the work before its first call.
 */
export function createHomeOutlet(deps: OutletDeps, begun: Work): HomeOutlet {
  const { remote, store, clock, log, redact, config, runTag } = deps;
  const { branch, start, id: lane } = begun.lane;
  /** Tip of the branch in the person's repository, or null if the branch does not exist. */
  let there = start.kind === 'continue' ? start.remoteHead : start.kind === 'fresh' ? null : start.mergedHead;
  let since = start.kind === 'continue' ? start.remoteHead : begun.base;
  let { sequence } = begun.state;
  let lastPublished = { state: begun.stateBefore, iterations: 0 };

  async function push({ head }: Work): Promise<PushResult> {
    if (head === since) return { kind: 'pushed' };
    const pushed = await remote.pushOn({ branch, commit: head, since, at: there }).catch(unreachableBy);
    if (pushed.kind !== 'pushed') return pushed;
    there = head;
    since = head;
    log.info(`${head.slice(0, 7)} is on ${branch}`);
    return pushed;
  }

  return {
    keep: async (work) => {
      const pushed = await push(work);
      if (pushed.kind === 'unreachable') {
        log.warning(`${branch} could not be written; the next commit tries again: ${completeSentence(pushed.why)}`);
        return;
      }
      if (pushed.kind !== 'pushed') throw refused(branch, describePushFailure(pushed));
      lastPublished = { state: { ...work.state, sequence }, iterations: work.journal.length };
      const document = (next: number): string => buildKilledDocument(deps, { ...work, remoteHead: there }, next);
      const holder = createLease(deps, clock.now());
      const kept = await store.update(advanceInSnapshot({ lane, after: sequence, document, holder }));
      sequence = (kept.kind === 'updated' ? kept.answer : null) ?? sequence;
    },
    end: async (unchecked, session) => {
      const now = clock.now();
      const checked: Work = { ...unchecked, state: selectStateToBuildOn(unchecked, config.policy, now) };
      const pushed = await push(checked);
      const isThere = pushed.kind === 'pushed';
      const outcome = isThere ? checked.outcome : await keptElsewhere(checked, describePushFailure(pushed));
      const state = isThere ? checked.state : withoutProgress(checked, now);
      const work: Work = { ...checked, state, outcome };
      const next = sequence + 1;
      const ended = endRun({ ...state, sequence: next, savedAt: now }, outcome, work.head, now);
      const published = !isThere || there === null ? ended : recordPublished(ended, { head: there, pullRequest: null });
      const transcript = hasAnySession(published) ? await session(published) : null;
      const named = transcript === null ? null : { sha256: transcript.sha256, bytes: transcript.content.length };
      const document = serializeLaneState(published, { transcript: named, redact });
      const copy = { lane, sequence: next, document };
      const run = { before: work.stateBefore, after: state, isPublished: isThere };
      const ending = {
        agents: config.agent.order,
        context: deps.context,
        outcome,
        requestedBy: null,
        headSha: there,
        pullRequest: null,
        redact,
      };
      const journal = packJournal(deps.readJournal(), { lastHash: state.journalHash, redact });
      const stored = buildStoredRun(work, { ...ending, requests: null, journal });
      const change = finishInSnapshot({
        ...copy,
        saver: createLease(deps, clock.now()),
        now: clock.now(),
        run,
        stored,
      });
      const saved = await store.save({ ...copy, transcript }, change, runTag);
      if (saved.kind !== 'saved') log.warning(`The state was not saved: ${completeSentence(saved.why)}`);
      return {
        work,
        headSha: there,
        saved:
          saved.kind === 'saved'
            ? { kind: 'saved', sequence: next, where: saved.where }
            : { kind: 'not-saved', why: saved.why },
      };
    },
  };

  /** Saves commits that the branch does not accept on a separate branch, after the same checks. */
  async function keptElsewhere(work: Work, why: string): Promise<Outcome> {
    const beside = `${branch}-${work.head.slice(0, 7)}`;
    const kept = await remote
      .pushOn({ branch: beside, commit: work.head, since: begun.base, at: null })
      .catch(unreachableBy);
    const where = kept.kind === 'pushed' ? ` They are on ${beside} instead.` : '';
    const message = `The newest commits of this run are not on ${branch}: ${completeSentence(why)}${where}`;
    return { kind: 'failed', reason: 'infrastructure', message };
  }

  function withoutProgress({ state, journal }: Work, now: number): LaneState {
    return discountProgress(
      { before: lastPublished.state, after: state, iterations: journal.length - lastPublished.iterations },
      config.policy,
      now,
    );
  }
}

function refused(branch: string, why: string): UserError {
  return new UserError('infrastructure', `${branch} does not accept the commits of this run. ${completeSentence(why)}`);
}
