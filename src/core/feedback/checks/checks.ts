import { MINUTE_MS } from '../../countdown.ts';
import { hashId, type TaskId } from '../../tasks/ids.ts';
import { cleanTitle } from '../../text/clean.ts';
import { capText, listFirstNames } from '../../text/phrase.ts';
import type { FeedbackRound } from '../memory.ts';
import type { CheckDetails, CheckNow, ChecksNow } from '../pull-request-now.ts';

/** Results of the checks of a pull request's head, apart from those that become tasks. Names are raw. */
export interface ChecksSummary {
  /** Counts for the head; null if the checks could not be read. */
  readonly counts: NonNullable<FeedbackRound['checks']> | null;
  /** Checks that also fail on the base branch, so that the pull request need not fix them. */
  readonly alsoOnBase: readonly string[];
  /** Checks that passed and failed on the same commit. */
  readonly flaky: readonly string[];
  /** Checks that wait for a person's approval, that are not reported yet, or that GitHub did not complete. */
  readonly waiting: readonly string[];
  /** True if checks are expected and none has started. */
  readonly unstarted: boolean;
  /** The reason why the checks could not be read, as a sentence; null if they were read. */
  readonly unreadable: string | null;
  /** True if GitHub's servers failed, so that the next run may be able to read the checks. */
  readonly isTemporary?: boolean;
  /** Number of checks on the head. */
  readonly runs: number;
}

const MAX_NAME_CHARS = 80;

/** Checks of the head and of the base branch, oldest first. */
type KnownChecks = Pick<Extract<ChecksNow, { kind: 'known' }>, 'head' | 'base'>;

/** Identifies the runs of this workflow: its file and the current run; null if not known. */
export interface OwnRuns {
  readonly workflow: string | null;
  readonly run: number | null;
}

/** The checks of a head by result. The newest run of a check represents it. */
export interface JudgedChecks {
  /** Failed checks to work on. */
  readonly failed: readonly CheckNow[];
  /** Checks that fail on the base branch as well. */
  readonly alsoOnBase: readonly CheckNow[];
  /** Checks that failed and passed on the same commit. */
  readonly flaky: readonly CheckNow[];
  readonly running: readonly CheckNow[];
  readonly waiting: readonly CheckNow[];
  /** Checks that passed, including flaky ones that passed last. */
  readonly passed: readonly CheckNow[];
}

/** Maximum time in ms until GitHub shows a workflow after a push. */
const STARTS_WITHIN_MS = 10 * MINUTE_MS;

/** Judges the checks of a head. Runs of Ralph's own workflow are left out. */
export function judgeChecks({ head, base }: KnownChecks, own: OwnRuns): JudgedChecks {
  const groups = [...Map.groupBy(withoutOwnAndSkipped(head, own), checkKey).values()].flatMap(groupOf);
  const newest = (result: CheckNow['result']): readonly CheckNow[] =>
    groups.map(({ last }) => last).filter((check) => check.result === result);
  const failed = groups.filter(({ last, isFlaky }) => last.result === 'failed' && !isFlaky).map(({ last }) => last);
  return {
    failed: failed.filter((check) => !failsOn(base, check)),
    alsoOnBase: failed.filter((check) => failsOn(base, check)),
    flaky: groups.filter(({ isFlaky }) => isFlaky).map(({ last }) => last),
    running: newest('running'),
    waiting: newest('waiting'),
    passed: newest('passed'),
  };
}

/**
 * Returns true if a check that failed on an earlier head is undecided on this head: it is running, or it has not begun
 * while other checks are unfinished.
 */
export function isUndecidedCheck(
  { failed, alsoOnBase, flaky, running, waiting, passed }: JudgedChecks,
  id: TaskId,
): boolean {
  const ended = [failed, alsoOnBase, flaky, passed].flat();
  const isEnded = ended.some((check) => taskIdOfCheck(check) === id);
  return !isEnded && (ended.length === 0 || running.length + waiting.length > 0);
}

/** Returns true if a failed check has no result on the base branch, because it has not run there yet or never does. */
export function isUnknownOnBase({ head, base }: KnownChecks, own: OwnRuns): boolean {
  return judgeChecks({ head, base }, own).failed.some((check) => lastOn(base, check) === undefined);
}

/** Returns the id of a failed check's task, which is the same on every head. */
export function taskIdOfCheck(check: CheckNow): TaskId {
  return `check-${hashId(checkKey(check))}`;
}

/**
 * Returns true if GitHub started no workflow on the head, although workflows ran on the base branch's tip or, if
 * `ranBefore`, on an earlier head. Returns null within ten minutes after the push, because a workflow may still start.
 */
export function areChecksUnstarted(
  { head, base }: KnownChecks,
  { own, ranBefore, sincePushMs }: { readonly own: OwnRuns; readonly ranBefore: boolean; readonly sincePushMs: number },
): boolean | null {
  const others = (checks: readonly CheckNow[]): readonly CheckNow[] => checks.filter((check) => !isOwn(check, own));
  const begun = others(head).filter(hasCheckBegun);
  const isExpected = others(base).some((check) => isOfActions(check) && startsByItself(check) && hasCheckBegun(check));
  // The memory does not record which app the checks of an earlier head belonged to, so then any check that has begun is
  // enough.
  const isMissing = isExpected ? !begun.some(isOfActions) : ranBefore && begun.length === 0;
  return isMissing && sincePushMs < STARTS_WITHIN_MS ? null : isMissing;
}

/**
 * Returns true if a push or a pull request starts the check. A scheduled or manual check of the base branch is not
 * expected on a pull request.
 */
function startsByItself({ workflow }: CheckNow): boolean {
  return (
    workflow === null || ['', 'push', 'pull_request', 'pull_request_target', 'merge_group'].includes(workflow.event)
  );
}

function isOfActions({ app, workflow }: Pick<CheckNow, 'app' | 'workflow'>): boolean {
  return app === 'github-actions' || workflow !== null;
}

function hasCheckBegun(check: CheckNow): boolean {
  return resultOf(check) !== 'waiting';
}

/** Removes Ralph's own checks and skipped ones. A skipped check is often the twin of one that another event started. */
function withoutOwnAndSkipped(checks: readonly CheckNow[], own: OwnRuns): readonly CheckNow[] {
  return checks
    .filter((check) => !isOwn(check, own))
    .map((check) => ({ ...check, result: resultOf(check) }))
    .filter(({ result }) => result !== 'skipped');
}

/**
 * Returns true if the check belongs to Ralph's own workflow. Workflow files are compared, because anybody can give a
 * workflow the same name.
 */
function isOwn({ app, workflow }: CheckNow, own: OwnRuns): boolean {
  if (workflow === null || (app !== null && app !== 'github-actions')) return false;
  return workflow.path === null ? own.run !== null && workflow.run === own.run : workflow.path === own.workflow;
}

/**
 * Derives the result from GitHub's conclusion first, because GitHub calls some checks completed that were skipped or
 * wait for approval.
 */
function resultOf({ result, conclusion }: Pick<CheckNow, 'result' | 'conclusion'>): CheckNow['result'] {
  if (/^(?:skipped|neutral|cancelled)$/i.test(conclusion)) return 'skipped';
  return /^(?:stale|action_required)$/i.test(conclusion) ? 'waiting' : result;
}

function checkKey({ of, app, workflow, name }: CheckNow): string {
  // A name stands in for an unknown path. Its slashes are removed, so that it never equals a path.
  const place = workflow === null ? '' : (workflow.path ?? workflow.name.replaceAll('/', ' '));
  return [of, app ?? '', place, name].map((part) => part.replaceAll('\n', ' ')).join('\n');
}

interface Group {
  readonly last: CheckNow;
  readonly isFlaky: boolean;
}

/**
 * Judges the runs of one check, oldest first. Runs are grouped by event, because a check that passes for a push may
 * fail for the pull request.
 */
function groupOf(runs: readonly CheckNow[]): readonly Group[] {
  const groups = [...Map.groupBy(runs, ({ workflow }) => workflow?.event ?? '').values()].flatMap(groupOfEvent);
  return groups.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, 1);
}

function groupOfEvent(runs: readonly CheckNow[]): readonly Group[] {
  const newest = newestOf(runs);
  const earlier = runs.filter((run) => !newest.includes(run));
  const last = newest.toSorted((one, other) => RANKS.indexOf(one.result) - RANKS.indexOf(other.result)).slice(0, 1);
  return last.map((run) => ({ last: run, isFlaky: isFlaky(run, earlier) }));
}

/** Results by precedence: a failure outweighs a running check, which outweighs a passed one. */
const RANKS: readonly (CheckNow['result'] | 'flaky')[] = ['failed', 'running', 'waiting', 'flaky', 'passed'];

function rankOf({ last, isFlaky: passesAtTimes }: Group): number {
  return RANKS.indexOf(passesAtTimes ? 'flaky' : last.result);
}

/**
 * Returns the newest run of a check and the runs of the same workflow run that had not ended when it began, because
 * jobs of one matrix may share a name.
 */
function newestOf(runs: readonly CheckNow[]): readonly CheckNow[] {
  const last = runs.at(-1);
  const began = last?.began ?? Number.POSITIVE_INFINITY;
  const isTwin = ({ workflow, at }: CheckNow): boolean =>
    workflow !== null && workflow.run === last?.workflow?.run && at !== null && at > began;
  return runs.filter((run) => run === last || isTwin(run));
}

function isFlaky(last: CheckNow, earlier: readonly CheckNow[]): boolean {
  if (last.result === 'passed') return earlier.some(({ result }) => result === 'failed');
  // Only a re-run of the same workflow run is certain to test the same content, because GitHub checks a pull request
  // after merging it with its base.
  const isAgain = ({ workflow }: CheckNow): boolean => workflow?.run === last.workflow?.run;
  return last.result === 'failed' && earlier.some((check) => check.result === 'passed' && isAgain(check));
}

/**
 * Returns true if a check fails on the base branch. If its newest run there is still in progress, the last finished run
 * decides.
 */
function failsOn(base: readonly CheckNow[], check: CheckNow): boolean {
  const last = lastOn(base, check);
  return last !== undefined && resultOf(last) === 'failed';
}

function lastOn(base: readonly CheckNow[], check: CheckNow): CheckNow | undefined {
  return base.findLast((other) => isSameCheck(other, check) && ['passed', 'failed'].includes(resultOf(other)));
}

/**
 * Returns true if two checks have the same name in the same workflow. Workflows are compared by file, or by name if the
 * file of one is unknown.
 */
function isSameCheck(one: CheckNow, other: CheckNow): boolean {
  if (one.of !== other.of || one.app !== other.app || one.name !== other.name) return false;
  if (one.workflow === null || other.workflow === null) return one.workflow === other.workflow;
  return one.workflow.path === null || other.workflow.path === null
    ? one.workflow.name === other.workflow.name
    : one.workflow.path === other.workflow.path;
}

/** Matches GitHub's annotations for a job that it did not start, or whose machine it lost. */
const MACHINE_FAILURE =
  /^The job was not (?:started because|acquired by Runner)|^The (?:self-)?hosted runner\b.{0,200}(?:lost communication with the server|encountered an error)|^The runner has received a shutdown signal|^GitHub Actions has encountered an internal error/;

/** Returns true if GitHub did not complete the job, so that no change of the code can make the check pass. */
export function isFailureOfMachine({ annotations }: Pick<CheckDetails, 'annotations'>): boolean {
  return annotations.some(({ message }) => MACHINE_FAILURE.test(message.trim()));
}

/** Returns sentences about failed checks that Ralph does not work on, with the reasons; empty if none. */
export function describeIgnoredChecks({ alsoOnBase, flaky, unreadable }: ChecksSummary): string {
  return [
    ...(alsoOnBase.length === 0
      ? []
      : [`Failed checks are ignored because they also fail on the base branch: ${quoteNames(alsoOnBase)}.`]),
    ...(flaky.length === 0
      ? []
      : [`Flaky checks are ignored because they passed and failed on the same commit: ${quoteNames(flaky)}.`]),
    ...(unreadable === null ? [] : [`The checks of the pull request could not be read. ${unreadable}`]),
  ].join(' ');
}

/** Quotes names after cleaning and cutting them, because anybody can choose a check's name. */
function quoteNames(names: readonly string[]): string {
  return listFirstNames(names.map((name) => `"${capText(cleanTitle(name).text, MAX_NAME_CHARS)}"`));
}
