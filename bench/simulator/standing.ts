import type { CircuitReason } from '../../src/core/lane/circuit.ts';
import type { Policy } from '../../src/core/policy.ts';
import { isAwaitingCheck, isKnownDone, type Fact } from './facts.ts';

/** The effect of one call according to the specification's rules about stuck tasks (§6). */
export interface Standing {
  /** The call is a probe, which alone decides: the circuit was open, or the previous task stepped aside. */
  readonly probe: boolean;
  /** The task was set aside earlier and has not made progress since. */
  readonly again: boolean;
  /** The reason why the task steps aside: it is stuck, or another turn was useless again; null if it does not. */
  readonly aside: 'stuck' | 'again' | null;
  /** The reasons why the circuit opens; empty if it does not. */
  readonly opens: readonly CircuitReason[];
  /**
   * The task waits for a person: it reported BLOCKED twice in a row, or once with a question while there is other work.
   */
  readonly blocked: boolean;
}

/** The input of the rules. `fresh` holds the numbers of calls after which the rolling windows begin again. */
export interface Situation {
  readonly policy: Policy;
  readonly tasks: readonly string[];
  readonly fresh: readonly number[];
}

/** The history until now. */
export interface Moment {
  readonly facts: readonly Fact[];
  readonly standings: readonly Standing[];
  readonly now: number;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * Returns the standing after every call. It implements the specification a second time, over the truth, so that the
 * core is not judged by its own code.
 */
export function standingsOf(facts: readonly Fact[], situation: Situation): readonly Standing[] {
  const standings: Standing[] = [];
  for (let at = 0; at < facts.length; at += 1) standings.push(standingAt(facts.slice(0, at + 1), standings, situation));
  return standings;
}

/** True if a task may be worked on after these calls: it is open and its turn has come. */
export function mayWork(task: string, after: Moment, situation: Situation): boolean {
  const { facts, standings, now } = after;
  if (isClosed(task, after, situation) || waitsForOthers(task, after, situation)) return false;
  const asides = asidesOf(task, facts, standings);
  const last = asides.at(-1);
  if (last === undefined) return true;
  const wait = Math.min(situation.policy.circuit.cooldownMs * 2 ** (asides.length - 1), DAY_MS);
  return now >= last.at + wait;
}

/**
 * True if a call feeds the circuit; the provider's limits and answers (the task is done, or there is nothing to
 * do) do not.
 */
export function counts({ neutral, nothingToDo, credited, denied, progress }: Fact): boolean {
  return progress || !(neutral || nothingToDo || (credited && !denied));
}

/** Returns true if STATUS was BLOCKED in this call and the previous one, both for the same task. */
function isBlockedTwice(facts: readonly Fact[], { fresh }: Situation): boolean {
  const since = Math.max(0, ...fresh.filter((count) => count < facts.length));
  const heard = facts.slice(since).filter(({ neutral }) => !neutral);
  const last = facts.at(-1);
  return last?.neutral === false && lastAre(heard, 2, ({ blocked, task }) => blocked && task === last.task);
}

function standingAt(facts: readonly Fact[], before: readonly Standing[], situation: Situation): Standing {
  const { policy, tasks } = situation;
  const fact = facts.at(-1);
  const earlier = facts.slice(0, -1);
  if (fact === undefined) return { probe: false, again: false, aside: null, opens: [], blocked: false };
  const again = asidesOf(fact.task, earlier, before).length > 0;
  const turning = before.findLastIndex(
    ({ opens, aside }, at) => earlier[at]?.progress === true || opens.length > 0 || aside === 'stuck',
  );
  const streak = facts.slice(turning + 1).filter(counts);
  const wasOpened = (before[turning]?.opens.length ?? 0) > 0;
  const decides = turning >= 0 && earlier[turning]?.progress === false && !(wasOpened && policy.circuit.autoReset);
  // Forgive the first call that only asks a question, unless the circuit was open.
  const forgiven = wasOpened && !policy.circuit.autoReset ? undefined : firstQuestion();
  const heard = streak.filter((one) => one !== forgiven);
  // A failed call does not count for its task, but it does decide a probe of an open circuit.
  const decided = wasOpened ? heard : heard.filter(({ unavailable }) => !unavailable);
  const probe = decides && decided.length <= (fact.unavailable && !wasOpened ? 0 : 1);
  const isOther = tasks.some(
    (task) => task !== fact.task && mayWork(task, { facts: earlier, standings: before, now: fact.at }, situation),
  );
  const asks = fact.blocked && fact.asks && !fact.neutral && isOther;
  const standing = { probe, again, blocked: asks || isBlockedTwice(facts, situation) };
  if (!counts(fact) || fact.progress || fact === forgiven)
    return { ...standing, aside: again && fact === forgiven ? 'again' : null, opens: [] };

  const idle = heard.filter((one) => !one.unavailable && (probe || !isAgain(one))).length;
  const ofTask: CircuitReason[] = [
    ...(!fact.unavailable && (idle >= policy.circuit.noProgress || probe) ? (['no_progress'] as const) : []),
    ...(declinesTwice() ? (['output_decline'] as const) : []),
  ];
  const ofSurroundings: CircuitReason[] = [
    ...(lastAre(heard, probe && wasOpened ? 1 : policy.circuit.permissionDenials, ({ denied }) => denied)
      ? (['permission_denied'] as const)
      : []),
    ...(lastAre(heard, probe && wasOpened ? 1 : policy.circuit.noProgress, ({ unavailable }) => unavailable)
      ? (['agent_error'] as const)
      : []),
    ...(lastAre(heard, policy.circuit.sameError, ({ error }) => error !== null && error === fact.error)
      ? (['same_error'] as const)
      : []),
  ];
  const trips = [...ofSurroundings, ...ofTask];
  const stepsAside = ofTask.length > 0 && ofSurroundings.length === 0 && isOther && !fact.unavailable;
  return {
    ...standing,
    aside: stepsAside ? 'stuck' : again && trips.length === 0 && !fact.unavailable ? 'again' : null,
    opens: stepsAside && !probe ? [] : trips,
  };

  function isAgain(one: Fact): boolean {
    return before[facts.indexOf(one)]?.again ?? again;
  }

  /** Returns the first question since the last progress. */
  function firstQuestion(): Fact | undefined {
    const since = facts.findLastIndex(({ progress }) => progress);
    const opened = before.findLastIndex(({ opens }) => opens.length > 0);
    return facts.slice(Math.max(since, opened) + 1).find(({ questionOnly }) => questionOnly);
  }

  function declinesTwice(): boolean {
    const answers = heard.filter(({ chars }) => chars !== null);
    return lastAre(answers, 2, isShort) && fact?.chars !== null;
  }

  function isShort(one: Fact): boolean {
    const at = facts.indexOf(one);
    const since = Math.max(0, ...situation.fresh.filter((count) => count <= at));
    const window = facts
      .slice(since, at)
      .filter(({ neutral, chars }) => !neutral && chars !== null)
      .slice(-5)
      .map(({ chars }) => chars ?? 0)
      .sort((a, b) => a - b);
    const median =
      ((window[Math.floor((window.length - 1) / 2)] ?? 0) + (window[Math.floor(window.length / 2)] ?? 0)) / 2;
    return (one.chars ?? 0) * 100 < median * (100 - policy.circuit.outputDeclinePercent);
  }
}

/** Returns the calls after which a task was set aside, since its last progress. */
export function asidesOf(task: string, facts: readonly Fact[], standings: readonly Standing[]): readonly Fact[] {
  const progressed = facts.findLastIndex((fact) => fact.task === task && fact.progress);
  return facts.filter((fact, at) => at > progressed && fact.task === task && standings[at]?.aside !== null);
}

/**
 * Returns true if a task only waits for others: its own part passes but theirs is unfinished, so another call would not
 * help.
 */
function waitsForOthers(task: string, { facts }: Moment, { tasks }: Situation): boolean {
  const isHalfDone = (id: string): boolean =>
    facts.some((fact) => fact.task === id) && !isKnownDone(id, facts) && !isAwaitingCheck(id, facts);
  return facts.at(-1)?.red === true && isAwaitingCheck(task, facts) && tasks.some(isHalfDone);
}

/** Returns true if a task is done, must be closed or answered by a person, or has used all its attempts. */
function isClosed(task: string, { facts, standings }: Omit<Moment, 'now'>, situation: Situation): boolean {
  const { maxIterationsPerTask } = situation.policy;
  const own = facts.filter((fact) => fact.task === task);
  const attempts = own.filter(({ neutral, unavailable, progress }) => progress || !(neutral || unavailable));
  return (
    isKnownDone(task, facts) ||
    own.some(({ credited, nothingToDo }) => nothingToDo && !credited) ||
    facts.some((fact, at) => fact.task === task && standings[at]?.blocked === true) ||
    (maxIterationsPerTask > 0 && attempts.length >= maxIterationsPerTask)
  );
}

function lastAre(facts: readonly Fact[], times: number, is: (fact: Fact) => boolean): boolean {
  return facts.length >= times && facts.slice(-times).every(is);
}
