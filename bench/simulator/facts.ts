import type { Played } from './history.ts';
import { snapshotOf, stepsLeft, testsPass } from './world.ts';

/** What one call really was, read off the script of the agent and never off the core's own analysis or verdict. */
export interface Fact {
  readonly task: string;
  readonly run: number;
  readonly startedAt: number;
  /** When the call was over. */
  readonly at: number;
  /** Says nothing about the agent: the provider's limit, or the end of the run's time. */
  readonly neutral: boolean;
  /** The content of the repository changed. */
  readonly progress: boolean;
  /** A step that was asked for was made. */
  readonly useful: boolean;
  readonly questionOnly: boolean;
  readonly denied: boolean;
  /** What error it met, by its kind; null: none. */
  readonly error: 'own' | 'provider' | null;
  readonly testOnly: boolean;
  readonly blocked: boolean;
  /** It put a question to a person. */
  readonly asks: boolean;
  /** The agent failed (no result, or an error) and changed nothing: no attempt at the task (spec §5). */
  readonly unavailable: boolean;
  /** It said that the task is done, nothing contradicted it, and its own work had changed content, or a passing `verify` says so (spec §15.14). */
  readonly credited: boolean;
  /** It said that the task is done, and it had changed nothing for it: an answer, which no circuit counts (spec §5). */
  readonly nothingToDo: boolean;
  /** `verify` fails on what it left. */
  readonly red: boolean;
  /** EXIT_SIGNAL true while something spoke against it. */
  readonly overruled: boolean;
  /** Characters of its answer; null without one. */
  readonly chars: number | null;
}

/**
 * Whether a task is done after these calls: it was finished, and the head of that run or of a later one passes in a clean
 * clone (spec §9). What was finished and then worked on again without being finished is not.
 */
export function isKnownDone(task: string, facts: readonly Fact[]): boolean {
  const finished = facts.findLastIndex((fact) => fact.task === task && fact.credited);
  return finished !== -1 && !isWithdrawn(task, facts.slice(finished + 1)) && isSeenGreen(facts.slice(finished));
}

/** Whether a task was finished, and only waits for a head that passes: no call is to be made for it while others are open. */
export function isAwaitingCheck(task: string, facts: readonly Fact[]): boolean {
  const finished = facts.findLastIndex((fact) => fact.task === task && fact.credited);
  return finished !== -1 && !isWithdrawn(task, facts.slice(finished + 1)) && !isSeenGreen(facts.slice(finished));
}

function isWithdrawn(task: string, later: readonly Fact[]): boolean {
  return later.some((fact) => fact.task === task && (fact.progress || fact.blocked));
}

/** Whether one of the runs, as far as they are known, left a head that passes. */
function isSeenGreen(facts: readonly Fact[]): boolean {
  return facts.some(({ run, red }, at) => !red && facts[at + 1]?.run !== run);
}

/** The facts of every call, in order. */
export function factsOf(calls: readonly Played[], verifies: boolean): readonly Fact[] {
  const startedTree = new Map<string, string>();
  const leftTree = new Map<string, string>();
  const credited = new Set<string>();
  const facts: Fact[] = [];
  for (const played of calls) {
    const task = played.entry.taskId;
    const [from, to] = [snapshotOf(played.before).tree, snapshotOf(played.after).tree];
    // What was changed while others were worked on is none of this task's work.
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
    // An agent that ran out of time was not heard.
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
