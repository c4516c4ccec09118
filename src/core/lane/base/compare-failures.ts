import { findErrors, computeFingerprint } from '../../analysis/analysis.ts';
import { MAX_NEWLY_RED, type Verification } from '../../evidence.ts';
import { listFailingTests, type TestReport } from '../../proof/test-report.ts';
import { capText } from '../../text/phrase.ts';
import type { LaneState } from '../state/state.ts';
import { findUnknownCommand, type VerificationSubject, buildVerificationRecord } from '../verification.ts';
import {
  ANY_FAILURE,
  isUnstable,
  MAX_FAILURES,
  MAX_FAILURE_TEXT_CHARS,
  type RedBase,
  withAllFailures,
} from './red-base.ts';

/** Maximum length of a line in which failures are searched, in UTF-16 units. */
const MAX_LINE_CHARS = 1_000;

/** Matches a line in which a test runner or compiler reports a failure, besides the errors that `findErrors` finds. */
const REPORTS_FAILURE =
  /^\s*(?:not ok\b|-{3} FAIL\b|FAIL(?:ED|URE|URES)?\b|[✖✗✘×●❌✕]\s|E {2,}\S|\d+\) \S|BUILD FAILED\b|Assertion\w*(?:Error|Failed)\b|panicked at\b)|\bFAILED\s*$|: (?:assertion|test) failed\b|^ *\d+:\d+ +error +\S|^\s*Failed \S.* \[.{1,20}\]$|\(Failed\)$|: .+ \[E\]$/;

/** Matches a line that only sums up failures, or that package managers print after a failure. */
const SUMS_UP =
  /^\s*(?:FAIL(?:ED|URES?)?!?(?: \(.*\))?$|FAIL\t(?!.* \[(?:build|setup) failed\])|FAILURE: |BUILD FAILED\b|[✖✗✘×] \d+ (?:problem|error|warning|test)s?\b|npm (?:ERR!|error)(?: (?:code|path|command|workspace|location|errno|node|A complete log|Lifecycle script|Test failed)\b.*)?$|\[ERROR\] (?:Failed to execute goal|There are|To see|Re-run|For more|After correcting|\[Help)|error: could not compile|g?make(?:\[\d+\])?: \*\*\* \[|Found \d+ errors?\b)/;

type Failed = Extract<Verification, { kind: 'failed' }>;

/** A failure that a verification reported. */
interface Failure {
  readonly text: string;
  readonly fingerprint: string;
}

/**
 * Returns the failures in the output of a verification, one per fingerprint. If no line reports a failure, the last
 * line counts as one. A verification that was ended, for example at its time limit, has the same failure wherever it
 * was ended.
 */
function failuresIn({ code, tail: output }: Pick<Failed, 'code' | 'tail'>): readonly Failure[] {
  const lines = output
    .split('\n')
    .map((line) => line.slice(0, MAX_LINE_CHARS).trimEnd())
    .filter((line) => line.trim() !== '');
  const reported = lines.flatMap((line) => {
    const [error] = findErrors(line);
    if (error !== undefined) return [error];
    return REPORTS_FAILURE.test(line) ? [baseFailureOf(line)] : [];
  });
  const single = reported.filter(({ text }) => !SUMS_UP.test(text));
  const last = lines.at(-1);
  if (code === null) return [{ text: last === undefined ? '' : baseFailureOf(last).text, fingerprint: ENDED }];
  const found =
    single.length > 0 ? single : reported.length > 0 || last === undefined ? reported : [baseFailureOf(last)];
  return onePerFingerprint(found);
}

function onePerFingerprint(failures: readonly Failure[]): readonly Failure[] {
  const first = new Map(failures.toReversed().map((one) => [one.fingerprint, one]));
  return failures.filter((one) => first.get(one.fingerprint) === one);
}

/** The fingerprint of a verification that had no exit code. */
const ENDED = '(ended without an exit code)';

/** Matches a duration that a test runner prints after a name. */
const DURATION = /(?: in)?[ ([\t]+\d+(?:[.,]\d+)?\s?(?:ns|µs|ms|s|sec(?:onds)?|m|min)[)\]]?(?=\s|$)/g;

function baseFailureOf(line: string): Failure {
  const text = line.replace(DURATION, '').trim();
  return { text: capText(text, MAX_FAILURE_TEXT_CHARS), fingerprint: computeFingerprint(text) };
}

/** Returns the failing tests that a reporter names, in a stable order. */
function failuresOf(report: TestReport): readonly Failure[] {
  const failures = listFailingTests(report).map(([name]) => ({
    text: capText(name, MAX_FAILURE_TEXT_CHARS),
    fingerprint: `…${name.slice(-MAX_NAME_CHARS)}`,
  }));
  return onePerFingerprint(failures).toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1));
}

/** Number of characters at the end of a test's name that are compared. */
const MAX_NAME_CHARS = 60;

/**
 * Describes a base on which `verify` fails; returns null if `verify` passes. The output and its report must already be
 * redacted.
 */
export function buildRedBase(
  subject: Pick<RedBase, 'commit' | 'commands'>,
  verification: Verification,
  report: TestReport,
): RedBase | null {
  if (verification.kind !== 'failed') return null;
  const tests = failuresOf(report);
  const lines = failuresIn(verification);
  // Test runners report failures in any order.
  const failures = tests.length > 0 ? tests : lines.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1));
  return {
    ...subject,
    stage: 'found',
    command: verification.command.slice(0, 200),
    failures: failures.map(({ fingerprint }) => fingerprint).slice(0, MAX_FAILURES),
    words: lines.at(-1)?.text ?? '',
  };
}

/** Returns true if a verification fails as the base does: in the same command, and with every failure of the base. */
export function failsAsBase(base: RedBase, verification: Verification, report: TestReport): boolean {
  if (!failsInCommandOf(base, verification)) return false;
  if (isUnstable(base)) return true;
  const reported = [...failuresOf(report), ...failuresIn(verification)];
  const failures = reported.map(({ fingerprint }) => fingerprint);
  return (
    base.failures.every((failure) => failures.includes(failure)) && (base.failures.length > 0 || failures.length === 0)
  );
}

function failsInCommandOf({ command }: RedBase, verification: Verification): verification is Failed {
  return verification.kind === 'failed' && verification.command.slice(0, 200) === command;
}

/**
 * Returns true if the red base must be verified a second time before an iteration is judged: its command fails, but
 * with other failures than on the base, and the output of both may differ each time.
 */
export function doubtsRedBase(base: RedBase, verification: Verification, report: TestReport): boolean {
  if (base.stage !== 'found' || base.verifiedTwice === true || !failsInCommandOf(base, verification)) return false;
  const { asOnBase, leftOfBase } = compareWithBase(base, verification, report) as Failed;
  return asOnBase !== true && leftOfBase === undefined;
}

/** Returns the red base after its second verification, with only the failures that both have. */
export function withSecondVerification(base: RedBase, verification: Verification, report: TestReport): RedBase {
  const twice = { ...base, verifiedTwice: true } as const;
  // A verification that was ended, for example at its time limit, proves nothing.
  if (!failsInCommandOf(base, verification) || verification.code === null) return twice;
  if (failsAsBase(base, verification, report)) return twice;
  const failures = buildRedBase(base, verification, report)?.failures ?? [];
  const common = base.failures.filter((failure) => failures.includes(failure));
  return { ...twice, failures: common.length > 0 ? common : [ANY_FAILURE] };
}

/**
 * Returns an iteration's verification with the result of comparing it with the red base: whether it fails as the base
 * does, the failures that the base does not have, and the base's remaining failures if all failures are among these.
 */
export function compareWithBase(base: RedBase | null, verification: Verification, report: TestReport): Verification {
  if (base === null || verification.kind !== 'failed') return verification;
  const known = new Set(base.failures);
  const tests = base.failures.some((failure) => failure.startsWith('…')) ? failuresOf(report) : [];
  const failures = tests.length > 0 ? tests : failuresIn(verification);
  // If the base may have more failures than are kept, a failing test cannot be identified as new, so no new failures
  // are listed.
  const isWhole = !isUnstable(base) && (tests.length === 0 || base.failures.length < MAX_FAILURES);
  const newlyRed = isWhole ? failures.filter(({ fingerprint }) => !known.has(fingerprint)) : [];
  const asOnBase = failsAsBase(base, verification, report);
  const left = failures.filter(({ fingerprint }) => known.has(fingerprint)).map(({ fingerprint }) => fingerprint);
  const isPartlyFixed = !asOnBase && left.length > 0 && left.length === failures.length;
  return {
    ...verification,
    asOnBase,
    newlyRed: newlyRed.map(({ text }) => text).slice(0, MAX_NEWLY_RED),
    ...(isPartlyFixed ? { leftOfBase: left } : {}),
  };
}

/**
 * Marks a failure in a command after the one that fails on the red base: a verification ends at its first failure, so
 * the command may fail on the base as well.
 */
export function markBeyondBase(
  base: RedBase | null,
  verification: Verification,
  commands: readonly string[],
): Verification {
  if (base?.stage !== 'found' || verification.kind !== 'failed') return verification;
  const indexOf = (cut: string): number => commands.findIndex((command) => command.slice(0, 200) === cut.slice(0, 200));
  const [onBase, here] = [indexOf(base.command), indexOf(verification.command)];
  return onBase !== -1 && here > onBase && base.beyond?.from !== here
    ? { ...verification, beyondBase: here }
    : verification;
}

/** Number of iterations in a row with the same failure after which the base is verified again. */
export const TIMES_TO_DOUBT_BASE = 2;

/** Number of characters at the end of a failure that are compared; the state keeps three of these ends. */
const MAX_END_CHARS = 20;

/** The failures of a verification in short, and the number of iterations in a row that had them. */
interface SameFailures {
  readonly as: string;
  readonly times: number;
}

/**
 * Returns the failures of an iteration's verification with the number of iterations in a row that had them; null if it
 * did not fail. A service that is gone, or a date, can make a base red that was green at the same commit.
 */
export function countSameFailures(
  last: { readonly failed?: SameFailures } | null,
  verification: Verification,
): SameFailures | null {
  if (verification.kind !== 'failed') return null;
  const failures = failuresIn(verification).map(({ fingerprint }) => fingerprint);
  // The end of a failure tells it apart, because long names often begin with the same path.
  const ends = failures.toSorted().slice(0, 3);
  const as = ends.map((failure) => failure.slice(-MAX_END_CHARS)).join(' ');
  return { as, times: last?.failed?.as === as ? last.failed.times + 1 : 1 };
}

/**
 * Returns the red base with which the next iteration is compared: without the failures that an iteration has fixed, if
 * it fixed a part of them. If it fixed the whole command, the base must be verified from the failing command on.
 */
export function withFixedFailures(base: RedBase | null, verification: Verification): RedBase | null {
  if (base === null || verification.kind !== 'failed') return base;
  const { leftOfBase: left, beyondBase: from } = verification;
  if (from !== undefined) return { ...base, beyond: { ...base.beyond, from, isVerified: false } };
  if (left === undefined) return base;
  const { failures, fixed = [] } = base;
  return { ...base, failures: left, fixed: [...fixed, ...failures.filter((failure) => !left.includes(failure))] };
}

/**
 * Returns the state after `verify` ran on the base. A base with the same failures that an iteration could not fix
 * allows no call. A base that passes again must first be merged.
 */
export function recordBaseVerification(
  state: LaneState,
  subject: VerificationSubject,
  { verification, report }: { readonly verification: Verification; readonly report: TestReport },
): LaneState {
  const before = state.redBase;
  const red = buildRedBase(subject, verification, report);
  const record = buildVerificationRecord(subject, verification);
  if (record === null || verification.kind === 'not-run') return { ...state, baseVerification: null };
  const again = before?.stage === 'reverify' && before.commands === subject.commands ? before : null;
  const from = findUnknownCommand(state, subject);
  if (red === null && from !== null) return { ...state, redBase: withLaterPassed(before) };
  const baseVerification = { ...record, durationMs: Math.max(0, Math.round(verification.durationMs)) };
  const recorded: LaneState = { ...state, baseVerification };
  if (red === null) return { ...recorded, redBase: before === null ? null : { ...before, stage: 'repaired' } };
  const { beyond } = again ?? {};
  // The first command still fails as before, so the later one was not reached.
  if (again && from === null && beyond?.first && failsAsBase(withAllFailures(again), verification, report))
    return { ...recorded, redBase: { ...again, commit: subject.commit, beyond: { ...beyond, isVerified: false } } };
  const stage = again !== null && failsAsBase(again, verification, report) ? 'tried' : 'found';
  const later = before === null || from === null ? {} : { beyond: { from, isVerified: true, first: firstOf(before) } };
  const unstable = stage === 'tried' && again !== null && isUnstable(again) ? { failures: again.failures } : {};
  return { ...recorded, redBase: { ...red, stage, ...unstable, ...later } };
}

/** Returns the red base after its later commands passed, so that their failures on the branch are its own. */
function withLaterPassed(base: RedBase | null): RedBase | null {
  if (base?.beyond === undefined) return base;
  const { from } = base.beyond;
  return base.stage === 'reverify'
    ? { ...withAllFailures(base), stage: 'found', beyond: { from, isVerified: true } }
    : { ...base, beyond: { ...base.beyond, isVerified: true } };
}

function firstOf(base: RedBase): NonNullable<NonNullable<RedBase['beyond']>['first']> {
  const { command, failures, words } = withAllFailures(base);
  return { command, failures, words };
}
