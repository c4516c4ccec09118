import { factsOf, type Fact } from './facts.ts';
import { wouldFinish, type Case, type History, type RunEnd } from './history.ts';
import { demandedBy } from './rules.ts';
import { isDone } from './world.ts';

/** What a policy did wrong, or had to do, to one agent. */
export interface Findings {
  readonly of: Case;
  readonly calls: number;
  /** The work was really done at the end of the last run. */
  readonly isFinished: boolean;
  /** Ends of runs (complete, halted, blocked) of agents that would have finished, and that no rule demands. */
  readonly premature: readonly RunEnd[];
  /** Ends that do not say `complete` although the work was done, verified and reported. */
  readonly misnamed: readonly RunEnd[];
  /** Ends of agents that would have finished, but that a rule of the specification demands: the rules' names. */
  readonly demanded: readonly string[];
  /** Runs that met an open circuit, whose one probe failed, and that went on calling. */
  readonly overlongProbes: number;
  /** Calls after the work was done and verified: `known` if the agent had said so of every task, `unsaid` if it never did. */
  readonly afterDone: { readonly known: number; readonly unsaid: number };
  /** For an agent that stops being of use for good; null for others. */
  readonly stagnation: Stagnation | null;
  /** Circuits that opened on an agent that progressed at least every second iteration: reasons. */
  readonly falseAlarms: readonly string[];
}

/** `burnt`: calls from the last useful one to the first end that says so. `held`: forgiven questions among them (spec §6). */
interface Stagnation {
  /** `still`: nothing changed any more; `busy`: content went on changing, which the specification calls progress. */
  readonly kind: 'still' | 'busy';
  readonly burnt: number;
  readonly held: number;
  /** Calls of later runs. */
  readonly probes: number;
  readonly isRecognised: boolean;
}

/** Holds a history against the truth. */
export function findingsOf(history: History): Findings {
  const { policy, verify } = history.config;
  const facts = factsOf(history.calls, verify.length > 0);
  const tasks = history.of.world.tasks.map(({ id }) => id);
  const worked = history.ends.filter((_, at) => callsOfRun(history, at) > 0);
  const isKnown = (calls: number): boolean =>
    tasks.every((id) => facts.slice(0, calls).some((fact) => fact.task === id && fact.credited));
  const unfinished = worked.filter((end) => isStop(end) && !isDone(end.world) && wouldFinish(history.of, end));
  const demands = unfinished.map((end) => ({
    end,
    rule: demandedBy(end.outcome, facts.slice(0, end.calls), { policy, tasks, isProbe: isProbe(worked, end) }),
  }));
  return {
    of: history.of,
    calls: history.calls.length,
    isFinished: history.ends.some(({ world }) => isDone(world)),
    misnamed: worked.filter(
      ({ world, calls, outcome }) => isDone(world) && isKnown(calls) && outcome.kind !== 'complete',
    ),
    premature: demands.filter(({ rule }) => rule === null).map(({ end }) => end),
    demanded: demands.flatMap(({ rule }) => (rule === null ? [] : [rule])),
    overlongProbes: worked.filter(
      (end, at) =>
        worked[at - 1]?.outcome.reason === 'circuit_open' &&
        facts[worked[at - 1]?.calls ?? 0]?.progress === false &&
        !isProbe(worked, end),
    ).length,
    afterDone: callsAfterDone(history, isKnown),
    stagnation: stagnationOf(history, facts),
    falseAlarms: history.ends.flatMap(({ outcome, calls }) =>
      outcome.reason === 'circuit_open' &&
      outcome.tripped === 'this-run' &&
      progressesEverySecond(facts.slice(0, calls))
        ? [outcome.circuitReason]
        : [],
    ),
  };
}

function isStop({ outcome }: RunEnd): boolean {
  return ['complete', 'halted', 'blocked', 'failed'].includes(outcome.kind);
}

function callsOfRun({ ends }: History, at: number): number {
  return (ends[at]?.calls ?? 0) - (ends[at - 1]?.calls ?? 0);
}

/** Whether this run began with an open circuit and made one call. */
function isProbe(worked: readonly RunEnd[], end: RunEnd): boolean {
  const before = worked[worked.indexOf(end) - 1];
  return before?.outcome.reason === 'circuit_open' && end.calls === before.calls + 1;
}

function callsAfterDone({ calls }: History, isKnown: (calls: number) => boolean): Findings['afterDone'] {
  const late = calls.flatMap(({ before }, at) => (isDone(before) ? [at] : []));
  const known = late.filter(isKnown).length;
  return { known, unsaid: late.length - known };
}

function stagnationOf(history: History, facts: readonly Fact[]): Stagnation | null {
  const last = history.ends.at(-1);
  if (last === undefined || isDone(last.world) || wouldFinish(history.of, last)) return null;
  const from = facts.findLastIndex(({ useful }) => useful) + 1;
  const recognised = history.ends.find((end) => end.calls >= from && isStop(end));
  const stretch = facts.slice(from, recognised?.calls ?? facts.length).filter(({ neutral }) => !neutral);
  return {
    kind: facts.slice(from).some(({ progress }) => progress) ? 'busy' : 'still',
    burnt: stretch.length,
    held: stretch.some(({ questionOnly }) => questionOnly) ? 1 : 0,
    probes: facts.length - (recognised?.calls ?? facts.length),
    isRecognised: recognised !== undefined,
  };
}

/** No two calls in a row without progress, among the last eight. */
function progressesEverySecond(facts: readonly Fact[]): boolean {
  const recent = facts.filter(({ neutral, progress }) => !neutral || progress).slice(-8);
  return recent.every(({ progress }, at) => progress || recent[at - 1]?.progress !== false);
}
