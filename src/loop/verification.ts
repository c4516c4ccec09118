import { MINUTE_MS } from '../core/countdown.ts';
import type { Verification } from '../core/evidence.ts';
import { serializeEvent } from '../core/journal/journal.ts';
import { doubtsRedBase, recordBaseVerification, withSecondVerification } from '../core/lane/base/compare-failures.ts';
import type { RedBase } from '../core/lane/base/red-base.ts';
import {
  hasUnrunnableCommand,
  buildVerificationRecord,
  buildVerificationSubject,
  isBaseKnown,
  recordHeadVerification,
  reopenTasks,
  findUnknownCommand,
} from '../core/lane/verification.ts';
import type { LoopAction } from '../core/loop/next-action.ts';
import type { Outcome } from '../core/outcome.ts';
import { NO_TESTS, parseTestReport, type TestReport } from '../core/proof/test-report.ts';
import { cutText, listFirstNames, toOneLine, completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import type { WorkAfterAction, LoopDeps } from './deps.ts';

/** Maximum length of a text of the agent in the journal, in characters. */
const MAX_TEXT_CHARS = 4_000;

/** Maximum length of a list of the agent in the journal. */
const MAX_ITEMS = 50;

/**
 * Minimum time for verification in the work tree, in ms, even if the run's time is nearly over, because an unverified
 * iteration is worth little.
 */
const MIN_VERIFY_MS = MINUTE_MS;

/**
 * Minimum time for verification in a clean clone, in ms, even if the run's time is over. Without this verification,
 * finished tasks are not done.
 */
const MIN_CLEAN_VERIFY_MS = 2 * MINUTE_MS;

/** Maximum time beyond the run's own, in ms. The watchdog waits five minutes. */
const MAX_OVERTIME_MS = 4 * MINUTE_MS;

/** A run of the verify commands, and the tests that its output names. */
export interface VerifyRun {
  readonly verification: Verification;
  readonly report: TestReport;
}

/**
 * Runs the verify commands in the work tree, then restores its last snapshot. Reads the tests in their output only if
 * there are failed tests of a red base to compare with.
 */
export async function verifyHere(deps: LoopDeps, work: Work): Promise<VerifyRun> {
  const leftMs = work.startedAt + deps.config.policy.maxRunMs - deps.clock.now();
  let report = NO_TESTS;
  const verification = await deps.verifier.verify({
    folder: null,
    from: 0,
    timeoutMs: Math.max(MIN_VERIFY_MS, Math.min(deps.config.policy.agentTimeoutMs, leftMs)),
    signal: deps.signal,
    onReport: work.state.redBase === null ? null : (text) => (report = parseTestReport(deps.redact(text))),
  });
  await putBack(deps);
  return { verification, report };
}

/**
 * Returns the red base with which an iteration's verification is compared. Verifies it a second time if that fails with
 * other failures, because a base with other failures each time is red as well.
 */
export async function confirmRedBase(
  deps: LoopDeps,
  work: Work,
  { verification, report }: VerifyRun,
): Promise<RedBase | null> {
  const { redBase } = work.state;
  if (redBase === null || !doubtsRedBase(redBase, verification, report)) return redBase;
  deps.log.info('verify fails in another way than on the base, so it runs a second time there …');
  const again = await verifyClean(deps, work, { commit: redBase.commit, from: redBase.beyond?.from ?? 0 });
  return again.verification.kind === 'impossible'
    ? redBase
    : withSecondVerification(redBase, redactAndBound<Verification>(again.verification, deps.redact), again.report);
}

async function putBack({ repository, log, redact }: LoopDeps): Promise<void> {
  const left = await repository.putBack();
  if (left.length > 0) log.info(`verify changed ${listFirstNames(left.map(redact))}; put back as it was.`);
}

/**
 * Runs the verify commands on the base commit before the first call, unless the result is known. Ends the run if a
 * command cannot run at all, or if there is no clean clone to run it in.
 */
export async function verifyBase(
  deps: LoopDeps,
  work: Work,
  base: string,
): Promise<WorkAfterAction & { readonly report: TestReport | null }> {
  let report: TestReport | null = null;
  const advanced = await verifyUnknownBase(deps, work, { base, onReport: (tests) => (report = tests) });
  return { ...advanced, report };
}

async function verifyUnknownBase(
  deps: LoopDeps,
  work: Work,
  { base, onReport }: { readonly base: string; readonly onReport: (report: TestReport) => void },
): Promise<WorkAfterAction> {
  if (!deps.config.policy.verifies) return { work, end: null };
  // In a run of three jobs, the gate's job has another environment, so check this job's own.
  const { verifyProblems } = deps.context;
  if (verifyProblems.length > 0)
    return { work, end: { kind: 'failed', reason: 'configuration', message: verifyProblems.join('\n') } };
  const subject = buildVerificationSubject(deps.config.verify, { commit: base, sha256: deps.sha256 });
  if (isBaseKnown(work.state, subject)) return { work, end: null };
  const from = findUnknownCommand(work.state, subject) ?? 0;
  deps.log.info(
    `verify runs once on the untouched base (${base.slice(0, 7)})${from === 0 ? '' : `, from command ${String(from + 1)} on`} …`,
  );
  const { verification, report, isWhole } = await verifyClean(deps, work, { commit: base, from });
  // A proof must not take the tests of commands that were left out as new.
  if (from === 0) onReport(isWhole ? report : NO_TESTS);
  // The agent's work could not be verified either and would be lost, so end the run.
  if (verification.kind === 'impossible') {
    const message = `verify cannot run in a clean clone of the base branch, so no call was made. ${completeSentence(verification.why)}`;
    return { work, end: { kind: 'failed', reason: 'infrastructure', message } };
  }
  if (verification.kind !== 'failed' || !hasUnrunnableCommand(verification)) {
    const known = { verification: redactAndBound<Verification>(verification, deps.redact), report };
    const state = recordBaseVerification(work.state, subject, known);
    const recorded: Work = { ...work, state };
    if (findUnknownCommand(state, subject) !== null) return verifyUnknownBase(deps, recorded, { base, onReport });
    return { work: recorded, end: state.redBase?.stage === 'tried' ? BASE_IS_RED : null };
  }
  const words = toOneLine(verification.tail, 300);
  return {
    work,
    end: {
      kind: 'failed',
      reason: 'configuration',
      message: `The verify command "${toOneLine(verification.command, 200)}" cannot run in a clean clone of the base branch (exit code ${String(verification.code)}${words === '' ? '' : `: ${words}`}). No call was made. Fix the input verify, or let it install what it needs first, for example "npm ci && npm test".`,
    },
  };
}

const BASE_IS_RED: Outcome = { kind: 'blocked', reason: 'base_is_red' };

/**
 * Runs the verify commands on the head in a clean clone, after the agent's processes are gone. In the work that it
 * returns, tasks that failed or could not be verified in time are not done.
 */
export async function verifyHead(
  deps: LoopDeps,
  work: Work,
  { subject, finished }: Extract<LoopAction, { kind: 'verify-head' }>,
): Promise<WorkAfterAction & { readonly passed: PassedHead | null }> {
  for (const { opened } of [...deps.agents, ...deps.stepAgents]) await opened()?.agent.sweep();
  deps.log.info(`verify runs in a clean clone of ${subject.commit.slice(0, 7)} …`);
  const { verification, report, isWhole } = await verifyClean(deps, work, { commit: subject.commit, from: 0 });
  const now = deps.clock.now();
  const reopened: Work = { ...work, state: reopenTasks(work.state, finished, { reason: 'not_verified', now }) };
  const unverified = { work: reopened, end: null, passed: null };
  if (verification.kind === 'impossible') {
    const message = `What this run finished could not be verified in a clean clone, so it does not count as done. ${completeSentence(verification.why)}`;
    return { ...unverified, end: { kind: 'failed', reason: 'infrastructure', message } };
  }
  const record = buildVerificationRecord(subject, verification);
  if (record === null) return unverified;
  if (verification.kind === 'failed' && verification.code === null) {
    deps.log.warning(
      `verify did not end in time in a clean clone, so what this run finished does not count yet. Give the run more time (input max-minutes), or make verify faster.`,
    );
    return unverified;
  }
  deps.appendJournal(
    serializeEvent({ kind: 'check', version: 1, lane: work.lane.id, checkedAt: now, check: record, finished }),
  );
  if (record.kind === 'failed')
    deps.log.warning(
      `The verify command "${toOneLine(record.command ?? '', 200)}" fails in a clean clone of the branch, so what this run finished is not done yet. Files that git ignores are there as they were before the run, so packages that the agent installed do not count. If verify needs an installation step, make it part of verify, for example "npm ci && npm test".`,
    );
  const verified: Work = {
    ...work,
    state: recordHeadVerification(work.state, { record, finished }, now),
    cleanVerification: { commit: subject.commit, after: work.journal.length, verification },
  };
  const passed =
    verification.kind === 'passed'
      ? { commit: subject.commit, report: isWhole ? report : NO_TESTS, durationMs: verification.durationMs }
      : null;
  return { work: verified, end: null, passed };
}

/**
 * A head that passed in a clean clone, and the tests that its output names, which are empty if it is too long to be
 * read.
 */
export interface PassedHead {
  readonly commit: string;
  readonly report: TestReport;
  readonly durationMs: number;
}

interface CleanVerification {
  readonly verification: Verification | { readonly kind: 'impossible'; readonly why: string };
  readonly report: TestReport;
  /** False if the report is only the end of a longer output. */
  readonly isWhole: boolean;
}

async function verifyClean(
  deps: LoopDeps,
  work: Work,
  { commit, from }: { readonly commit: string; readonly from: number },
): Promise<CleanVerification> {
  const { policy } = deps.config;
  const leftMs = work.startedAt + policy.maxRunMs - deps.clock.now();
  const known = work.journal.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run');
  const usualMs = known === undefined || known.kind === 'not-run' ? 0 : 2 * known.durationMs;
  const timeoutMs = Math.max(
    Math.min(Math.max(MIN_CLEAN_VERIFY_MS, usualMs), MAX_OVERTIME_MS),
    Math.min(policy.agentTimeoutMs, leftMs),
  );
  return await verifyAt(deps, work, { commit, from, timeoutOf: () => timeoutMs });
}

/** A commit to verify. `from` is the index of the first command that runs. */
interface VerifiedCommit {
  readonly commit: string;
  readonly from?: number;
  readonly timeoutOf: () => number;
}

/**
 * Runs the verify commands on a commit in a clean clone. Calls `timeoutOf` only once the clone exists, because cloning
 * may take minutes.
 */
export async function verifyAt(
  deps: LoopDeps,
  work: Work,
  { commit, from = 0, timeoutOf }: VerifiedCommit,
): Promise<CleanVerification> {
  const { signal } = deps;
  let [report, isWhole] = [NO_TESTS, true];
  const onReport = (text: string, isAll: boolean): void => {
    report = parseTestReport(deps.redact(text));
    isWhole = isAll;
  };
  // `putBack` needs a snapshot, and no iteration has taken one yet.
  if (work.journal.length === 0) await deps.repository.snapshot();
  const verification = await deps.repository
    .checkOutCommitAlone(commit, signal)
    .then((folder) => deps.verifier.verify({ folder, from, timeoutMs: timeoutOf(), signal, onReport }))
    .catch((error: unknown) =>
      signal.aborted ? { kind: 'not-run' as const } : { kind: 'impossible' as const, why: getErrorText(error) },
    );
  // Undo everything that the commands wrote into the work tree, because it would look like work of the next iteration.
  if (!signal.aborted) await putBack(deps);
  return { verification, report, isWhole };
}

/** Redacts and cuts every text in the data and cuts every list, so that it can be kept and shown. */
export function redactAndBound<T>(data: T, redact: (text: string) => string): T {
  return bound(data, redact) as T;
}

function bound(data: unknown, redact: (text: string) => string): unknown {
  if (typeof data === 'string') return cutText(redact(data), MAX_TEXT_CHARS);
  if (Array.isArray(data)) return data.slice(0, MAX_ITEMS).map((item) => bound(item, redact));
  if (typeof data === 'object' && data !== null)
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, bound(value, redact)]));
  return data;
}
