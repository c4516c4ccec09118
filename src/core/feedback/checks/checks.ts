import { MINUTE_MS } from '../../countdown.ts';
import { grouped } from '../../grouped.ts';
import { hashId, type TaskId } from '../../tasks/ids.ts';
import { cleanTitle } from '../../text/clean.ts';
import { capped, namesOf } from '../../text/phrase.ts';
import type { FeedbackRound } from '../memory.ts';
import type { CheckNow, ChecksNow } from '../pull-request-now.ts';

/** What the gate saw of the checks of a pull request's head, beside those that are tasks. Names are raw. */
export interface ChecksSummary {
  /** Of the head; null: they could not be read. */
  readonly counts: NonNullable<FeedbackRound['checks']> | null;
  /** They fail on the base branch as well, so that nobody works on them here. */
  readonly alsoOnBase: readonly string[];
  /** They passed and failed on the same commit. */
  readonly flaky: readonly string[];
  /** They wait for a person's approval, or never began. */
  readonly waiting: readonly string[];
  /** Whether checks are expected and none has started. */
  readonly unstarted: boolean;
  /** Why the checks could not be read, as a sentence; null: they were. */
  readonly unreadable: string | null;
  /** True if GitHub failed as they were read, so that the next run may read them. */
  readonly isForNow?: boolean;
  /** How many there are on the head. */
  readonly runs: number;
}

const MAX_NAME_CHARS = 80;

/** Checks that are known, of the head and of the base branch, the oldest first. */
type KnownChecks = Pick<Extract<ChecksNow, { kind: 'known' }>, 'head' | 'base'>;

/** By what the runs of this very workflow are known: its file, and the run that asks; null: not known. */
export interface OwnRuns {
  readonly workflow: string | null;
  readonly run: number | null;
}

/** What the checks of a head come to: of each check its newest run. */
export interface JudgedChecks {
  /** To be worked on. */
  readonly failed: readonly CheckNow[];
  /** They fail on the base branch as well. */
  readonly alsoOnBase: readonly CheckNow[];
  /** They failed and passed on the same commit. */
  readonly flaky: readonly CheckNow[];
  readonly running: readonly CheckNow[];
  readonly waiting: readonly CheckNow[];
  /** Flaky ones that passed last included. */
  readonly passed: readonly CheckNow[];
}

/** GitHub takes so long at most until a workflow is seen. */
const STARTS_WITHIN_MS = 10 * MINUTE_MS;

/** Judges the checks of a head; our own workflow's runs are left out. */
export function judgeChecks({ head, base }: KnownChecks, own: OwnRuns): JudgedChecks {
  const groups = [...grouped(counted(head, own), keyOf).values()].flatMap(groupOf);
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

/** Whether nobody can say yet if a check that failed on an earlier head still does: it is on its way, or has not begun where others have not ended either. */
export function isUndecidedCheck(
  { failed, alsoOnBase, flaky, running, waiting, passed }: JudgedChecks,
  id: TaskId,
): boolean {
  const ended = [failed, alsoOnBase, flaky, passed].flat();
  const isEnded = ended.some((check) => taskIdOfCheck(check) === id);
  return !isEnded && (ended.length === 0 || running.length + waiting.length > 0);
}

/** Whether something failed of which the base branch's tip does not say how it stands there: nothing has run yet, or nothing does. */
export function isUnknownOnBase({ head, base }: KnownChecks, own: OwnRuns): boolean {
  return judgeChecks({ head, base }, own).failed.some((check) => lastOn(base, check) === undefined);
}

/** Id of the task that a failed check is: the same on every head. */
export function taskIdOfCheck(check: CheckNow): TaskId {
  return `check-${hashId(keyOf(check))}`;
}

/**
 * Whether GitHub starts no workflow on the head, although some ran on the base branch's tip or, as `ranBefore` says, on
 * an earlier head. null: nobody can say yet, since a workflow may start within ten minutes after the push.
 */
export function unstartedChecks(
  { head, base }: KnownChecks,
  { own, ranBefore, sincePushMs }: { readonly own: OwnRuns; readonly ranBefore: boolean; readonly sincePushMs: number },
): boolean | null {
  const others = (checks: readonly CheckNow[]): readonly CheckNow[] => checks.filter((check) => !isOwn(check, own));
  const begun = others(head).filter(hasBegun);
  const isExpected = others(base).some((check) => isOfActions(check) && startsByItself(check) && hasBegun(check));
  // Of an earlier head nobody remembers whose checks they were.
  const isMissing = isExpected ? !begun.some(isOfActions) : ranBefore && begun.length === 0;
  return isMissing && sincePushMs < STARTS_WITHIN_MS ? null : isMissing;
}

/** What runs on the base branch by a clock, or by hand, is not expected on a pull request. */
function startsByItself({ workflow }: CheckNow): boolean {
  return (
    workflow === null || ['', 'push', 'pull_request', 'pull_request_target', 'merge_group'].includes(workflow.event)
  );
}

function isOfActions({ app, workflow }: Pick<CheckNow, 'app' | 'workflow'>): boolean {
  return app === 'github-actions' || workflow !== null;
}

function hasBegun(check: CheckNow): boolean {
  return resultOf(check) !== 'waiting';
}

/** One that was skipped says nothing: often it is the twin of one that was not, started by another event. */
function counted(checks: readonly CheckNow[], own: OwnRuns): readonly CheckNow[] {
  return checks
    .filter((check) => !isOwn(check, own))
    .map((check) => ({ ...check, result: resultOf(check) }))
    .filter(({ result }) => result !== 'skipped');
}

/** By its file: anybody can call a workflow as ours is called. */
function isOwn({ app, workflow }: CheckNow, own: OwnRuns): boolean {
  if (workflow === null || (app !== null && app !== 'github-actions')) return false;
  return workflow.path === null ? own.run !== null && workflow.run === own.run : workflow.path === own.workflow;
}

/** GitHub's word counts for more than whether it calls the check completed. */
function resultOf({ result, conclusion }: Pick<CheckNow, 'result' | 'conclusion'>): CheckNow['result'] {
  if (/^(?:skipped|neutral|cancelled)$/i.test(conclusion)) return 'skipped';
  return /^(?:stale|action_required)$/i.test(conclusion) ? 'waiting' : result;
}

function keyOf({ of, app, workflow, name }: CheckNow): string {
  // A file has a slash: no workflow is taken for the file of another.
  const place = workflow === null ? '' : (workflow.path ?? workflow.name.replaceAll('/', ' '));
  return [of, app ?? '', place, name].map((part) => part.replaceAll('\n', ' ')).join('\n');
}

interface Group {
  readonly last: CheckNow;
  readonly isFlaky: boolean;
}

/** Of the runs of one check, oldest first. What passed for a push may fail for the pull request: each event has its own say. */
function groupOf(runs: readonly CheckNow[]): readonly Group[] {
  const groups = [...grouped(runs, ({ workflow }) => workflow?.event ?? '').values()].flatMap(groupOfEvent);
  return groups.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, 1);
}

function groupOfEvent(runs: readonly CheckNow[]): readonly Group[] {
  const newest = newestOf(runs);
  const earlier = runs.filter((run) => !newest.includes(run));
  const last = newest.toSorted((one, other) => RANKS.indexOf(one.result) - RANKS.indexOf(other.result)).slice(0, 1);
  return last.map((run) => ({ last: run, isFlaky: isFlaky(run, earlier) }));
}

/** What fails counts for more than what runs, and that for more than what passed. */
const RANKS: readonly (CheckNow['result'] | 'flaky')[] = ['failed', 'running', 'waiting', 'flaky', 'passed'];

function rankOf({ last, isFlaky: passesAtTimes }: Group): number {
  return RANKS.indexOf(passesAtTimes ? 'flaky' : last.result);
}

/** The newest, and others of its run that had not ended when it began: jobs of one matrix may share a name. */
function newestOf(runs: readonly CheckNow[]): readonly CheckNow[] {
  const last = runs.at(-1);
  const began = last?.began ?? Number.POSITIVE_INFINITY;
  const isTwin = ({ workflow, at }: CheckNow): boolean =>
    workflow !== null && workflow.run === last?.workflow?.run && at !== null && at > began;
  return runs.filter((run) => run === last || isTwin(run));
}

function isFlaky(last: CheckNow, earlier: readonly CheckNow[]): boolean {
  if (last.result === 'passed') return earlier.some(({ result }) => result === 'failed');
  // Only the same run, run again, is certain to be of the same content: a pull request is checked as it would be merged.
  const isAgain = ({ workflow }: CheckNow): boolean => workflow?.run === last.workflow?.run;
  return last.result === 'failed' && earlier.some((check) => check.result === 'passed' && isAgain(check));
}

/** What runs there again says nothing yet: what it came to before counts. */
function failsOn(base: readonly CheckNow[], check: CheckNow): boolean {
  const last = lastOn(base, check);
  return last !== undefined && resultOf(last) === 'failed';
}

function lastOn(base: readonly CheckNow[], check: CheckNow): CheckNow | undefined {
  return base.findLast((other) => isSame(other, check) && ['passed', 'failed'].includes(resultOf(other)));
}

/** The file is not known of every run. */
function isSame(one: CheckNow, other: CheckNow): boolean {
  if (one.of !== other.of || one.app !== other.app || one.name !== other.name) return false;
  if (one.workflow === null || other.workflow === null) return one.workflow === other.workflow;
  return one.workflow.path === null || other.workflow.path === null
    ? one.workflow.name === other.workflow.name
    : one.workflow.path === other.workflow.path;
}

/** Why failed checks start no work, as sentences; empty: there are none of that kind. */
export function leftChecks({ alsoOnBase, flaky, unreadable }: ChecksSummary): string {
  return [
    ...(alsoOnBase.length === 0
      ? []
      : [`Not worked on here, since the base branch fails in the same way: ${quoted(alsoOnBase)}.`]),
    ...(flaky.length === 0 ? [] : [`Not worked on, since the same commit passed and failed: ${quoted(flaky)}.`]),
    ...(unreadable === null ? [] : [`The checks of the pull request could not be read. ${unreadable}`]),
  ].join(' ');
}

/** Names are raw: anybody can call a check whatever they like. */
function quoted(names: readonly string[]): string {
  return namesOf(names.map((name) => `"${capped(cleanTitle(name).text, MAX_NAME_CHARS)}"`));
}
