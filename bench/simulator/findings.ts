import { MOST_RUNS, wouldDo, type Case } from './cases.ts';
import { factsOf, isAwaitingCheck, isKnownDone, type Fact } from './facts.ts';
import type { History, RunEnd } from './history.ts';
import { demandedBy } from './rules.ts';
import { asidesOf, counts, mayWork, standingsOf, type Moment, type Situation, type Standing } from './standing.ts';
import { isDone, isTaskDone, testsPass } from './world.ts';

/** What a policy did wrong, or had to do, to one agent. */
export interface Findings {
  readonly of: Case;
  readonly calls: number;
  /** The work was really done at the end of the last run. */
  readonly isFinished: boolean;
  /** Ends of runs (complete, halted, blocked) before the end of what the agent would have done, and that no rule demands. */
  readonly premature: readonly RunEnd[];
  /** Ends that do not say `complete` although the work was done, verified and reported. */
  readonly misnamed: readonly RunEnd[];
  /** Ends before the end of what the agent would have done, but that a rule of the specification demands: the rules' names. */
  readonly demanded: readonly string[];
  /** Calls after the circuit had opened in the same run, a failed probe's included, or while it cooled down. */
  readonly onOpen: number;
  /** Calls beyond `max-iterations` of a run or `max-iterations-per-task` of a task. */
  readonly beyondLimits: number;
  /** Calls for a task that was done and verified: `known` if the agent had said so, `unsaid` if it never did. */
  readonly afterDone: { readonly known: number; readonly unsaid: number };
  /** For an agent that stops being of use for good; null for others. */
  readonly stagnation: Stagnation | null;
  /** Circuits that opened on an agent that progressed at least every second iteration: reasons. */
  readonly falseAlarms: readonly string[];
  /** Circuits that opened although a task made progress in one of the two calls before, or for no reason of §6: reasons. */
  readonly wrongOpens: readonly string[];
  /** Counts tasks that can be done: the longest run of calls in a row that went to tasks that cannot. `held`: see Stagnation. */
  readonly longestWait: { readonly calls: number; readonly held: number };
  /** Calls whose task is done although no rule says so, or the other way round. */
  readonly misjudged: number;
  /** Calls for a task whose turn it was not: it waits or is closed, comes last, or opened the circuit that is probed (spec §6). */
  readonly outOfTurn: number;
  /** Tasks of a queue that can be done, and that no run began. */
  readonly starved: readonly string[];
}

/** `burnt`: calls from the last useful one to the first end that says so. `held`: those among them that are forgiven, or counted apart. */
interface Stagnation {
  /** `still`: nothing changed any more; `busy`: content went on changing, which the specification calls progress. */
  readonly kind: 'still' | 'busy';
  readonly burnt: number;
  readonly held: number;
  /** Whether a task stepped aside, so that the next one was probed. */
  readonly steppedAside: boolean;
  /** Calls of later runs. */
  readonly probes: number;
  readonly isRecognised: boolean;
}

/** What is known of a history, for all that is looked for in it. */
interface Known {
  readonly history: History;
  readonly facts: readonly Fact[];
  readonly standings: readonly Standing[];
  readonly situation: Situation;
  /** Open tasks that the agent would have done, had it been called on and on after so many calls. */
  readonly worksLeft: (calls: number) => readonly string[];
}

/** Holds a history against the truth. */
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

/** The rolling windows do not reach back over such an end. */
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

/** The rule that demands the end of a run, with calls or without. */
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

/** The circuits that opened, with the number of calls until then. */
function trippedIn({ ends }: History): readonly { readonly reason: string; readonly calls: number }[] {
  return ends.flatMap(({ outcome, calls }) =>
    outcome.reason === 'circuit_open' && outcome.tripped === 'this-run'
      ? [{ reason: outcome.circuitReason, calls }]
      : [],
  );
}

/** Whether a rule of §6 opens it, and neither this call nor, but for a probe, the one before made progress. */
function isRightToOpen({ facts, standings }: Known, calls: number, reason: string): boolean {
  const standing = standings[calls - 1];
  const before = facts.slice(0, calls).filter(counts).slice(-2);
  const isIdle = before.every(({ progress }) => !progress);
  return standing?.opens.some((one) => one === reason) === true && isIdle;
}

/** Calls in a run whose circuit had opened, or while it cooled down. */
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
  // What only waits for a check of the head comes behind what is open.
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

/** How many there are more of one kind than so many; 0: no limit. */
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
    // Somebody must have looked at it once to know.
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
  // One more turn of a task that was set aside is no part of it.
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

/** The first question is forgiven, and calls that failed are counted apart from idle ones (spec §6). */
function heldIn(calls: readonly Fact[]): number {
  const failed = calls.filter(({ unavailable }) => unavailable).length;
  const forgiven = calls.some(({ questionOnly }) => questionOnly) ? 1 : 0;
  return forgiven + Math.min(failed, calls.length - failed);
}

/** No two calls in a row without progress, among the last eight. */
function progressesEverySecond(facts: readonly Fact[]): boolean {
  const recent = facts.filter(({ neutral, progress }) => !neutral || progress).slice(-8);
  return recent.every(({ progress }, at) => progress || recent[at - 1]?.progress !== false);
}

/** Of tasks that can be done and were not begun: how long each waited in each run. */
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

/** The longest row of calls for tasks that cannot be done, and that neither change anything nor answer that there is nothing to do. */
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
  return last === undefined || last.outcome.kind === 'parked' || known.history.of.runs < MOST_RUNS.queue
    ? []
    : known.worksLeft(last.calls).filter((task) => !isBegun(known, task, last.calls));
}
