import { MAX_SCHEDULED_RUNS, wouldDo, type Case } from './cases.ts';
import { factsOf, isAwaitingCheck, isKnownDone, type Fact } from './facts.ts';
import type { History, RunEnd } from './history.ts';
import { demandedBy } from './rules.ts';
import { asidesOf, counts, mayWork, standingsOf, type Moment, type Situation, type Standing } from './standing.ts';
import { isDone, isTaskDone, testsPass } from './world.ts';

/** A policy's mistakes and necessary decisions with one agent. */
export interface Findings {
  readonly of: Case;
  readonly calls: number;
  /** True if the work was really done at the end of the last run. */
  readonly isFinished: boolean;
  /** Ends of runs (complete, halted, blocked) that no rule demands, although the agent would have done more. */
  readonly premature: readonly RunEnd[];
  /** Ends without `complete` although the work was done, verified and reported. */
  readonly misnamed: readonly RunEnd[];
  /** Names of the rules that demanded an end although the agent would have done more. */
  readonly demanded: readonly string[];
  /** Calls after the circuit had opened in the same run (including after a failed probe), or while it cooled down. */
  readonly onOpen: number;
  /** Calls beyond `max-iterations` of a run or `max-iterations-per-task` of a task. */
  readonly beyondLimits: number;
  /** Calls for a task that was done and verified: `known` if the agent had reported that, `unsaid` if it never did. */
  readonly afterDone: { readonly known: number; readonly unsaid: number };
  /** Set for an agent that stops being useful for good, null for others. */
  readonly stagnation: Stagnation | null;
  /** Reasons of circuits that opened although the agent made progress at least every second iteration. */
  readonly falseAlarms: readonly string[];
  /**
   * Reasons of circuits that opened although a task made progress in one of the two calls before, or without a reason
   * of §6.
   */
  readonly wrongOpens: readonly string[];
  /**
   * The longest sequence of calls for tasks that cannot be done, while one that can be done waits. `held`: see
   * Stagnation.
   */
  readonly longestWait: { readonly calls: number; readonly held: number };
  /** Calls whose task is considered done although no rule says so, or vice versa. */
  readonly misjudged: number;
  /**
   * Calls for a task that was not next: it waits, is closed, comes last, or opened the circuit that is probed (spec
   * §6).
   */
  readonly outOfTurn: number;
  /** Tasks of a queue that can be done but that no run began. */
  readonly starved: readonly string[];
}

/**
 * `burnt`: calls from the last useful one to the first end that reports the problem. `held`: those of them that are
 * forgiven or counted separately.
 */
interface Stagnation {
  /** `still`: content no longer changed; `busy`: content kept changing, which the specification calls progress. */
  readonly kind: 'still' | 'busy';
  readonly burnt: number;
  readonly held: number;
  /** Set if a task stepped aside and the next one was probed. */
  readonly steppedAside: boolean;
  /** Number of calls of later runs. */
  readonly probes: number;
  readonly isRecognised: boolean;
}

/** The facts about a history that all findings use. */
interface Known {
  readonly history: History;
  readonly facts: readonly Fact[];
  readonly standings: readonly Standing[];
  readonly situation: Situation;
  /** Returns the open tasks that the agent would have done if it had been called further after this number of calls. */
  readonly worksLeft: (calls: number) => readonly string[];
}

/** Compares a history with the truth. */
export function findingsOf(history: History): Findings {
  const { policy, verify } = history.config;
  const facts = factsOf(history.calls, verify.length > 0);
  const tasks = history.of.world.tasks.map(({ id }) => id);
  const fresh = history.ends.flatMap(({ outcome, calls }) => (beginsAgain(outcome) ? [calls] : []));
  const situation = { policy, tasks, fresh };
  const known: Known = {
    history,
    facts,
    situation,
    standings: standingsOf(facts, situation),
    worksLeft: createWorksLeft(history),
  };
  const worked = history.ends.filter((_, at) => callsOfRun(history, at) > 0);
  const demands = history.ends
    .filter((end) => isStop(end) && known.worksLeft(end.calls).length > 0)
    .map((end) => ({ end, rule: ruleFor(known, end) }));
  return {
    of: history.of,
    calls: history.calls.length,
    isFinished: history.ends.some(({ world }) => isDone(world)),
    misnamed: worked.filter(
      ({ world, calls, outcome }) =>
        isDone(world) && tasks.every((id) => isKnownDone(id, facts.slice(0, calls))) && outcome.kind !== 'complete',
    ),
    premature: demands.filter(({ rule }) => rule === null).map(({ end }) => end),
    demanded: demands.flatMap(({ rule, end }) => (rule === null || !worked.includes(end) ? [] : [rule])),
    onOpen: callsOnOpen(known),
    beyondLimits: callsBeyondLimits(known),
    afterDone: callsAfterDone(known),
    stagnation: stagnationOf(known),
    falseAlarms: trippedIn(history).flatMap(({ reason, calls }) =>
      progressesEverySecond(facts.slice(0, calls)) ? [reason] : [],
    ),
    wrongOpens: trippedIn(history).flatMap(({ reason, calls }) =>
      isRightToOpen(known, calls, reason) ? [] : [reason],
    ),
    misjudged: facts.filter(({ credited }, at) => credited !== history.calls[at]?.entry.verdict.taskDone).length,
    outOfTurn: facts.filter((_, at) => isOutOfTurn(known, at)).length,
    longestWait: longestWait(known),
    starved: starvedIn(known),
  };
}

function isStop({ outcome }: RunEnd): boolean {
  return ['complete', 'halted', 'blocked', 'failed'].includes(outcome.kind);
}

/** Returns true for an end after which the rolling windows begin again. */
function beginsAgain({ kind, reason }: RunEnd['outcome']): boolean {
  return kind === 'complete' || kind === 'blocked' || (kind === 'halted' && reason !== 'circuit_open');
}

function callsOfRun({ ends }: History, at: number): number {
  return (ends[at]?.calls ?? 0) - (ends[at - 1]?.calls ?? 0);
}

function createWorksLeft({ of, calls: all }: History): Known['worksLeft'] {
  const found = new Map<number, readonly string[]>();
  return (count) => {
    const calls = all.slice(0, count);
    const world = calls.at(-1)?.after ?? of.world;
    const left =
      found.get(count) ??
      of.world.tasks
        .map(({ id }) => id)
        .filter((task) => !isTaskDone(world, task) && wouldDo(of, task, { world, calls }));
    found.set(count, left);
    return left;
  };
}

/** Returns the rule that demands the end of a run, with or without calls, or null. */
function ruleFor(known: Known, end: RunEnd): string | null {
  const { history, facts, standings, situation } = known;
  const { outcome, calls } = end;
  const isWithout = callsOfRun(history, history.ends.indexOf(end)) === 0;
  const now = isWithout ? end.startedAt : (facts[calls - 1]?.at ?? end.startedAt);
  const after = upTo(known, calls, now);
  const isCooling = now < (after.facts.findLast(counts)?.at ?? 0) + situation.policy.circuit.cooldownMs;
  if (isWithout && outcome.reason === 'circuit_open' && !isCooling) return null;
  if (isWithout && outcome.reason === 'circuit_open') {
    const last = after.facts.findLastIndex(counts);
    return demandedBy(outcome, { ...after, standings: standings.slice(0, last + 1) }, situation);
  }
  return demandedBy(outcome, after, situation);
}

/** Returns the circuits that opened, with the number of calls until then. */
function trippedIn({ ends }: History): readonly { readonly reason: string; readonly calls: number }[] {
  return ends.flatMap(({ outcome, calls }) =>
    outcome.reason === 'circuit_open' && outcome.tripped === 'this-run'
      ? [{ reason: outcome.circuitReason, calls }]
      : [],
  );
}

/**
 * Returns true if a rule of §6 opens the circuit and no progress contradicts it: neither in this call nor, except for a
 * probe, in the one before.
 */
function isRightToOpen({ facts, standings }: Known, calls: number, reason: string): boolean {
  const standing = standings[calls - 1];
  const before = facts.slice(0, calls).filter(counts).slice(-2);
  const isIdle = before.every(({ progress }) => !progress);
  return standing?.opens.some((one) => one === reason) === true && isIdle;
}

/** Counts the calls in a run whose circuit had opened, or while it cooled down. */
function callsOnOpen({ facts, standings, situation }: Known): number {
  const { cooldownMs, autoReset } = situation.policy.circuit;
  return facts.filter((fact, at) => {
    const last = facts.slice(0, at).findLastIndex(counts);
    const before = facts[last];
    if (before === undefined || standings[last]?.opens.length === 0) return false;
    return before.run === fact.run || (!autoReset && fact.startedAt < before.at + cooldownMs);
  }).length;
}

function isOutOfTurn(known: Known, at: number): boolean {
  const { facts, standings, situation } = known;
  const fact = facts[at];
  if (fact === undefined) return false;
  const { task, startedAt } = fact;
  const before = upTo(known, at, startedAt);
  if (!mayWork(task, before, situation)) return true;
  // Tasks that only wait for a verification of the head come after open ones.
  const waits = (id: string): boolean => isAwaitingCheck(id, before.facts);
  const others = situation.tasks.filter(
    (other) => other !== task && waits(other) === waits(task) && mayWork(other, before, situation),
  );
  if (waits(task) && situation.tasks.some((other) => !waits(other) && mayWork(other, before, situation))) return true;
  const last = before.facts.findLastIndex(counts);
  const opener =
    standings[last]?.opens.length === 0 || situation.policy.circuit.autoReset ? undefined : facts[last]?.task;
  if (task === opener) return others.length > 0;
  return (
    standings[at]?.again === true &&
    others.some((other) => other !== opener && asidesOf(other, before.facts, standings).length === 0)
  );
}

function callsBeyondLimits({ facts, situation: { policy } }: Known): number {
  const spent = facts.filter(({ neutral, unavailable, progress }) => progress || !(neutral || unavailable));
  return (
    beyond(
      facts.map(({ run }) => String(run)),
      policy.maxIterations,
    ) +
    beyond(
      spent.map(({ task }) => task),
      policy.maxIterationsPerTask,
    )
  );
}

/** Returns the number of entries of one kind above the limit; a limit of 0 means none. */
function beyond(kinds: readonly string[], most: number): number {
  if (most === 0) return 0;
  const found = new Map<string, number>();
  for (const kind of kinds) found.set(kind, (found.get(kind) ?? 0) + 1);
  return [...found.values()].reduce((sum, count) => sum + Math.max(0, count - most), 0);
}

function callsAfterDone({ history, facts }: Known): Findings['afterDone'] {
  const late = facts.flatMap(({ task }, at) => {
    const before = facts.slice(0, at).filter((fact) => fact.task === task);
    const world = history.calls[at]?.before;
    const isAnswered = before.some(({ credited, nothingToDo }) => nothingToDo && !credited);
    if (isAnswered || isKnownDone(task, facts.slice(0, at))) return ['known'];
    // A task can only be known as done after a call has looked at it.
    return before.length > 0 && world !== undefined && isTaskDone(world, task) && testsPass(world) ? ['unsaid'] : [];
  });
  const known = late.filter((kind) => kind === 'known').length;
  return { known, unsaid: late.length - known };
}

function stagnationOf(known: Known): Stagnation | null {
  const { history, facts, standings } = known;
  const last = history.ends.at(-1);
  if (last === undefined || isDone(last.world) || known.worksLeft(last.calls).length > 0) return null;
  const from = facts.findLastIndex(({ useful }) => useful) + 1;
  const recognised = history.ends.find((end) => end.calls >= from && isStop(end));
  const until = recognised?.calls ?? facts.length;
  // An extra turn of a task that was set aside does not count.
  const stretch = facts.slice(from, until).filter((fact, at) => counts(fact) && standings[from + at]?.again === false);
  return {
    kind: facts.slice(from).some(({ progress }) => progress) ? 'busy' : 'still',
    burnt: stretch.length,
    held: heldIn(stretch),
    steppedAside: standings.slice(from, until).some(({ aside, opens }) => aside === 'stuck' && opens.length === 0),
    probes: facts.length - until,
    isRecognised: recognised !== undefined,
  };
}

/** The first question is forgiven, and failed calls are counted separately from idle ones (spec §6). */
function heldIn(calls: readonly Fact[]): number {
  const failed = calls.filter(({ unavailable }) => unavailable).length;
  const forgiven = calls.some(({ questionOnly }) => questionOnly) ? 1 : 0;
  return forgiven + Math.min(failed, calls.length - failed);
}

/** Returns true if no two consecutive calls of the last eight were without progress. */
function progressesEverySecond(facts: readonly Fact[]): boolean {
  const recent = facts.filter(({ neutral, progress }) => !neutral || progress).slice(-8);
  return recent.every(({ progress }, at) => progress || recent[at - 1]?.progress !== false);
}

/** Returns the longest wait within a run of tasks that can be done but were not begun. */
function longestWait(known: Known): Findings['longestWait'] {
  const { history, facts } = known;
  const waits = history.ends.flatMap((end, at) => {
    const from = history.ends[at - 1]?.calls ?? 0;
    if (end.calls === from) return [];
    const left = known.worksLeft(from);
    return left
      .filter((task) => mayWork(task, upTo(known, from, end.startedAt), known.situation))
      .filter((task) => !isBegun(known, task, from))
      .map((task) => {
        const run = facts.slice(from, end.calls);
        const first = run.findIndex((fact) => fact.task === task);
        return inVain(run.slice(0, first === -1 ? run.length : first), left);
      });
  });
  return longest(waits);
}

/**
 * Returns the longest sequence of calls for tasks that cannot be done, in which the agent neither changes content nor
 * answers that there is nothing to do.
 */
function inVain(facts: readonly Fact[], canBeDone: readonly string[]): Findings['longestWait'] {
  const rows: Fact[][] = [[]];
  for (const fact of facts) {
    if (fact.progress || canBeDone.includes(fact.task)) rows.push([]);
    else if (counts(fact)) rows.at(-1)?.push(fact);
  }
  return longest(rows.map((row) => ({ calls: row.length, held: heldIn(row) })));
}

function longest(waits: readonly Findings['longestWait'][]): Findings['longestWait'] {
  const none = { calls: 0, held: 0 };
  return waits.reduce((most, wait) => (wait.calls - wait.held > most.calls - most.held ? wait : most), none);
}

function upTo({ facts, standings }: Known, calls: number, now: number): Moment {
  return { facts: facts.slice(0, calls), standings: standings.slice(0, calls), now };
}

function isBegun({ facts }: Known, task: string, calls: number): boolean {
  return facts.slice(0, calls).some((fact) => fact.task === task);
}

function starvedIn(known: Known): readonly string[] {
  const last = known.history.ends.at(-1);
  return last === undefined || last.outcome.kind === 'parked' || known.history.of.runs < MAX_SCHEDULED_RUNS.queue
    ? []
    : known.worksLeft(last.calls).filter((task) => !isBegun(known, task, last.calls));
}
