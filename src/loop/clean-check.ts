import { isBaseKnown, recordBaseCheck } from '../core/lane/base/base-check.ts';
import {
  awaitingCheck,
  cannotRun,
  checkOf,
  checkSubject,
  finishedSince,
  isCheckOf,
  recordHeadCheck,
  reopen,
  type CheckSubject,
} from '../core/lane/check.ts';
import type { Verification } from '../core/evidence.ts';
import { serializeCheck } from '../core/journal/journal.ts';
import type { Outcome } from '../core/outcome.ts';
import { namesOf } from '../core/text/lists.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { sentence } from '../core/text/sentence.ts';
import { MINUTE_MS } from '../core/time.ts';
import { oneLine } from '../core/text/one-line.ts';
import type { Work } from '../handover/work.ts';
import { textOf } from '../errors.ts';
import { bounded } from './bounded.ts';
import type { LoopDeps } from './deps.ts';

/** Verification in the work tree gets at least this long, even when the run's time is nearly up: an iteration without it is worth little. */
const MIN_VERIFY_MS = MINUTE_MS;
/** A verification is given at least so long, in ms, whatever is left of the run: without it what was finished does not count. */
const MIN_CHECK_MS = 2 * MINUTE_MS;
/** What it may take beyond the run's time: the watchdog waits five minutes. */
const MAX_OVERTIME_MS = 4 * MINUTE_MS;

/** The work, and why the run ends here; null: it continues. */
interface BaseChecked {
  readonly work: Work;
  readonly end: Outcome | null;
}

/** What the verify commands say of the work tree, which is then as it was at the last snapshot. */
export async function verifyHere(deps: LoopDeps, work: Work): Promise<Verification> {
  const leftMs = work.startedAt + deps.config.policy.maxRunMs - deps.clock.now();
  const verification = await deps.verifier.verify({
    folder: null,
    timeoutMs: Math.max(MIN_VERIFY_MS, Math.min(deps.config.policy.agentTimeoutMs, leftMs)),
    signal: deps.signal,
  });
  await putBack(deps);
  return verification;
}

async function putBack({ repository, log, redact }: LoopDeps): Promise<void> {
  const left = await repository.putBack();
  if (left.length > 0) log.info(`verify changed ${namesOf(left.map(redact))}; put back as it was.`);
}

/** Before anything else: whatever the agent does later to files that git ignores, a clean clone gets them as they are now. */
export async function keepIgnoredFiles({ repository, log, signal }: LoopDeps): Promise<boolean> {
  return await repository.keepIgnored(signal).then(
    () => true,
    (error: unknown) => {
      if (!signal.aborted)
        log.warning(
          `Files that git ignores cannot be copied, so verify runs without them in a clean clone, and they stay as the agent leaves them. ${sentence(textOf(error))}`,
        );
      return false;
    },
  );
}

/** Once the agent is gone: a later step of the job that caches what git ignores stores nothing of the agent's. */
export async function putBackIgnoredFiles({ repository, log, redact, signal }: LoopDeps): Promise<void> {
  const left = 'Files that git ignores may be as the agent left them: store no cache of them in this job.';
  // A cancelled run has no time for it.
  if (signal.aborted) {
    log.info(left);
    return;
  }
  await repository.putBackIgnored(signal).then(
    (paths) => {
      if (paths.length > 0)
        log.info(`What git ignores was put back as it was before the agent worked: ${namesOf(paths.map(redact))}.`);
    },
    (error: unknown) => {
      log.warning(`${left} ${sentence(textOf(error))}`);
    },
  );
}

/** Before the first call: what the verify commands say of the base commit, where that is not known. One that cannot run at all ends the run, and so does a clean clone that cannot be had. */
export async function checkBase(deps: LoopDeps, work: Work, base: string): Promise<BaseChecked> {
  if (!deps.config.policy.verifies) return { work, end: null };
  // Three jobs: the gate's job has another environment than this one.
  const { verifyProblems } = deps.context;
  if (verifyProblems.length > 0)
    return { work, end: { kind: 'failed', reason: 'configuration', message: verifyProblems.join('\n') } };
  const subject = subjectOf(deps, base);
  if (isBaseKnown(work.state, subject)) return { work, end: null };
  deps.log.info(`verify runs once on the untouched base (${base.slice(0, 7)}) …`);
  const verification = await verifyClean(deps, work, base);
  // What the calls make could not be verified either, so that nothing of it would count.
  if (verification.kind === 'impossible') {
    const message = `verify cannot run in a clean clone of the base branch, so no call was made. ${sentence(verification.why)}`;
    return { work, end: { kind: 'failed', reason: 'infrastructure', message } };
  }
  if (verification.kind !== 'failed' || !cannotRun(verification)) {
    const state = recordBaseCheck(work.state, subject, bounded<Verification>(verification, deps.redact));
    return { work: { ...work, state }, end: state.redBase?.stage === 'tried' ? BASE_IS_RED : null };
  }
  const words = oneLine(verification.tail, 300);
  return {
    work,
    end: {
      kind: 'failed',
      reason: 'configuration',
      message: `The verify command "${oneLine(verification.command, 200)}" cannot run in a clean clone of the base branch (exit code ${String(verification.code)}${words === '' ? '' : `: ${words}`}). No call was made. Fix the input verify, or let it install what it needs first, for example "npm ci && npm test".`,
    },
  };
}

const BASE_IS_RED: Outcome = { kind: 'blocked', reason: 'base_is_red' };

/** What came of it; in the work, what failed or could not be finished is not done. */
type HeadChecked =
  | { readonly kind: 'not-needed' }
  | { readonly kind: 'checked'; readonly work: Work }
  /** Nothing can be verified here: a call more would not help. */
  | { readonly kind: 'impossible'; readonly work: Work; readonly end: Outcome };

/**
 * At the end of a run that finished tasks, or before what was finished earlier is worked on again (`outcome` null): what
 * the verify commands say of the head in a clean clone, after the agent's processes are gone.
 */
export async function checkHead(deps: LoopDeps, work: Work, outcome: Outcome | null): Promise<HeadChecked> {
  if (!deps.config.policy.verifies || outcome?.kind === 'cancelled') return { kind: 'not-needed' };
  const { headCheck, lastIteration } = work.state;
  const subject = subjectOf(deps, work.head);
  const isKnown = headCheck?.kind === 'passed' && isCheckOf(headCheck, subject);
  const finished = claimedBy(work, outcome);
  const awaits = awaitingCheck(work.state).length > 0;
  const isNeeded =
    outcome === null ||
    ((finished.length > 0 || outcome.kind === 'complete') && !isKnown) ||
    // What is red in the work tree is so in the clone: that it waits is known.
    (awaits && lastIteration?.verification !== 'failed');
  if (!isNeeded) return { kind: 'not-needed' };
  for (const { opened } of deps.agents) await opened()?.agent.sweep();
  deps.log.info(`verify runs in a clean clone of ${subject.commit.slice(0, 7)} …`);
  const verification = await verifyClean(deps, work, subject.commit);
  const now = deps.clock.now();
  const unverified: Work = { ...work, state: reopen(work.state, finished, now) };
  if (verification.kind === 'impossible') {
    const message = `What this run finished could not be verified in a clean clone, so it does not count as done. ${sentence(verification.why)}`;
    return { kind: 'impossible', work: unverified, end: { kind: 'failed', reason: 'infrastructure', message } };
  }
  const check = checkOf(subject, verification);
  if (check === null) return { kind: 'checked', work: unverified };
  if (verification.kind === 'failed' && verification.code === null) {
    deps.log.warning(
      `verify did not end in time in a clean clone, so what this run finished does not count yet. Give the run more time (input max-minutes), or make verify faster.`,
    );
    return { kind: 'checked', work: unverified };
  }
  deps.appendJournal(serializeCheck({ version: 1, lane: work.lane.id, checkedAt: now, check, finished }));
  const checked: Work = {
    ...work,
    state: recordHeadCheck(work.state, { check, finished }, now),
    headVerification: { commit: subject.commit, after: work.journal.length, verification },
  };
  deps.record(checked);
  if (check.kind === 'passed') return { kind: 'checked', work: checked };
  deps.log.warning(
    `The verify command "${oneLine(check.command ?? '', 200)}" fails in a clean clone of the branch, so what this run finished is not done yet. Files that git ignores are there as they were before the run, so packages that the agent installed do not count. If verify needs an installation step, make it part of verify, for example "npm ci && npm test".`,
  );
  return { kind: 'checked', work: checked };
}

/** What the run calls done that no check of its head has seen. Of a lane that was complete before the run, that is all that its branch has. */
function claimedBy({ stateBefore, state }: Work, outcome: Outcome | null): readonly TaskId[] {
  const finished = finishedSince(stateBefore, state);
  return finished.length > 0 || outcome?.kind !== 'complete'
    ? finished
    : Object.keys(state.change.tasks).filter((id) => progressOf(state.tasks, id).state === 'done');
}

function subjectOf({ config, sha256 }: LoopDeps, commit: string): CheckSubject {
  return checkSubject(config.verify, { commit, sha256 });
}

type CleanVerification = Verification | { readonly kind: 'impossible'; readonly why: string };

async function verifyClean(deps: LoopDeps, work: Work, commit: string): Promise<CleanVerification> {
  const { policy } = deps.config;
  const leftMs = work.startedAt + policy.maxRunMs - deps.clock.now();
  const known = work.journal.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run');
  const usualMs = known === undefined || known.kind === 'not-run' ? 0 : 2 * known.durationMs;
  const timeoutMs = Math.max(
    Math.min(Math.max(MIN_CHECK_MS, usualMs), MAX_OVERTIME_MS),
    Math.min(policy.agentTimeoutMs, leftMs),
  );
  // What the work tree is put back to.
  if (work.journal.length === 0) await deps.repository.snapshot();
  const verification = await deps.repository
    .cleanClone(commit, deps.signal)
    .then((folder) => deps.verifier.verify({ folder, timeoutMs, signal: deps.signal }))
    .catch((error: unknown) =>
      deps.signal.aborted ? { kind: 'not-run' as const } : { kind: 'impossible' as const, why: textOf(error) },
    );
  // It can write into the work tree as well, and that is nobody's work.
  if (!deps.signal.aborted) await putBack(deps);
  return verification;
}
