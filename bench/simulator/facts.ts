import type { Played } from './history.ts';
import { snapshotOf, stepsLeft, testsPass } from './world.ts';

/** The truth about one call, taken from the agent's script and never from the core's own analysis or verdict. */
export interface Fact {
  readonly task: string;
  readonly run: number;
  readonly startedAt: number;
  /** Time at which the call ended. */
  readonly at: number;
  /** Set if the call says nothing about the agent: the provider's limit, or the end of the run's time. */
  readonly neutral: boolean;
  /** The content of the repository changed. */
  readonly progress: boolean;
  /** The agent made a step that the task asked for. */
  readonly useful: boolean;
  readonly questionOnly: boolean;
  readonly denied: boolean;
  /** The kind of error in the call, or null if none. */
  readonly error: 'own' | 'provider' | null;
  readonly testOnly: boolean;
  readonly blocked: boolean;
  /** The agent asked a person a question. */
  readonly asks: boolean;
  /** The agent failed (no result, or an error) and changed nothing: no attempt at the task (spec §5). */
  readonly unavailable: boolean;
  /**
   * The agent claimed that the task is done, nothing contradicted it, and its own work had changed content, or a
   * passing `verify` confirms it (spec §15.14).
   */
  readonly credited: boolean;
  /**
   * The agent claimed that the task is done without having changed anything for it: an answer, which no circuit counts
   * (spec §5).
   */
  readonly nothingToDo: boolean;
  /** `verify` fails on the work tree after the call. */
  readonly red: boolean;
  /** EXIT_SIGNAL was true, but the evidence contradicted it. */
  readonly overruled: boolean;
  /** Length of the answer in characters, or null without an answer. */
  readonly chars: number | null;
}

/**
 * True if a task is done after these calls: it was finished, and the head of that run or of a later one passes in
 * a clean clone (spec §9). A task that was finished and then worked on again without being finished is not done.
 */
export function isKnownDone(task: string, facts: readonly Fact[]): boolean {
  const finished = facts.findLastIndex((fact) => fact.task === task && fact.credited);
  return finished !== -1 && !isWithdrawn(task, facts.slice(finished + 1)) && isSeenGreen(facts.slice(finished));
}

/** True if a finished task only waits for a passing head; such a task gets no call while other tasks are open. */
export function isAwaitingCheck(task: string, facts: readonly Fact[]): boolean {
  const finished = facts.findLastIndex((fact) => fact.task === task && fact.credited);
  return finished !== -1 && !isWithdrawn(task, facts.slice(finished + 1)) && !isSeenGreen(facts.slice(finished));
}

function isWithdrawn(task: string, later: readonly Fact[]): boolean {
  return later.some((fact) => fact.task === task && (fact.progress || fact.blocked));
}

/** Returns true if one of the known runs left a head that passes. */
function isSeenGreen(facts: readonly Fact[]): boolean {
  return facts.some(({ run, red }, at) => !red && facts[at + 1]?.run !== run);
}

/** Returns the facts of every call, in order. */
export function factsOf(calls: readonly Played[], verifies: boolean): readonly Fact[] {
  const startedTree = new Map<string, string>();
  const leftTree = new Map<string, string>();
  const credited = new Set<string>();
  const facts: Fact[] = [];
  for (const played of calls) {
    const task = played.entry.taskId;
    const [from, to] = [snapshotOf(played.before).tree, snapshotOf(played.after).tree];
    // Changes made while other tasks were worked on do not count as this task's work.
    const isUntouched = leftTree.get(task) === startedTree.get(task);
    const started = isUntouched ? from : (startedTree.get(task) ?? from);
    startedTree.set(task, started);
    leftTree.set(task, to);
    const {
      act: { deed, output },
      entry: {
        evidence: { end, outputChars },
      },
    } = played;
    // The output of an agent that ran out of time is not used.
    const words = end.kind === 'exited' && 'text' in output ? output : null;
    const claims = words?.kind === 'block' ? words : null;
    const isRed = verifies && !testsPass(played.after);
    const untrue = claims !== null && ((claims.tests === 'PASSING' && isRed) || (claims.files > 0 && from === to));
    const claimsDone = claims !== null && (claims.tasks > 0 || claims.status === 'COMPLETE' || claims.exit);
    const denied = from === to && (words?.denied.length ?? 0) > 0;
    const isAnswer = claimsDone && !untrue && to === started && from === to && !denied && claims.status !== 'BLOCKED';
    const isCredited = claimsDone && !untrue && !isRed && (to !== started || (isAnswer && verifies));
    if (isCredited) credited.add(task);
    const isNeutral =
      output.kind === 'usage-limit' || output.kind === 'overloaded' || (end.kind === 'timeout' && end.of === 'run');
    const isFailure =
      output.kind === 'unavailable' || output.kind === 'silence' || end.kind !== 'exited' || end.code !== 0;
    const open = played.before.tasks.some(({ id }) => !credited.has(id));
    facts.push({
      task,
      run: played.run,
      startedAt: played.entry.startedAt,
      at: played.entry.endedAt,
      neutral: isNeutral,
      progress: from !== to,
      useful: stepsLeft(played.after) < stepsLeft(played.before),
      questionOnly: words?.kind === 'prose' && words.text.endsWith('?') && from === to && words.denied.length === 0,
      denied,
      error: output.kind === 'unavailable' ? 'provider' : words?.text.includes('TypeError:') === true ? 'own' : null,
      testOnly: claims?.work === 'TESTING' && (from === to || deed.startsWith('test')) && !isCredited,
      blocked: claims?.status === 'BLOCKED' && !isCredited,
      asks: claims !== null && claims.asks !== null,
      unavailable: isFailure && !isNeutral && from === to,
      credited: isCredited,
      nothingToDo: isAnswer,
      red: isRed,
      overruled: claims?.exit === true && (open || isRed || untrue) && !isCredited,
      chars: end.kind === 'exited' && end.code === 0 ? outputChars : null,
    });
  }
  return facts;
}
