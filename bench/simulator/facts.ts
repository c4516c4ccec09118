import type { Played } from './history.ts';
import { snapshotOf, stepsLeft, testsPass } from './world.ts';

/** What one call really was, read off the script of the agent and never off the core's own analysis or verdict. */
export interface Fact {
  readonly task: string;
  /** Says nothing about the agent: the provider's limit, or the end of the run's time. */
  readonly neutral: boolean;
  /** The content of the repository changed. */
  readonly progress: boolean;
  /** A step that was asked for was made. */
  readonly useful: boolean;
  readonly questionOnly: boolean;
  readonly denied: boolean;
  readonly error: boolean;
  readonly testOnly: boolean;
  readonly blocked: boolean;
  /** It said that the task is done, its content had changed since the task was begun, and nothing contradicted it (spec §15.14). */
  readonly credited: boolean;
  /** EXIT_SIGNAL true while something spoke against it. */
  readonly overruled: boolean;
  /** Characters of its answer; null without one. */
  readonly chars: number | null;
}

/** The facts of every call, in order. */
export function factsOf(calls: readonly Played[], verifies: boolean): readonly Fact[] {
  const startedTree = new Map<string, string>();
  const credited = new Set<string>();
  return calls.map((played) => {
    const task = played.entry.taskId;
    const [from, to] = [snapshotOf(played.before).tree, snapshotOf(played.after).tree];
    startedTree.set(task, startedTree.get(task) ?? from);
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
    const untrue =
      claims !== null &&
      ((claims.tests === 'PASSING' && isRed) ||
        (claims.tasks > 0 && to === startedTree.get(task)) ||
        (claims.files > 0 && from === to));
    const claimsDone = claims !== null && (claims.tasks > 0 || claims.status === 'COMPLETE' || claims.exit);
    const isCredited = claimsDone && !untrue && !isRed && to !== startedTree.get(task);
    if (isCredited) credited.add(task);
    const open = played.before.tasks.some(({ id }) => !credited.has(id));
    return {
      task,
      neutral:
        output.kind === 'usage-limit' || output.kind === 'overloaded' || (end.kind === 'timeout' && end.of === 'run'),
      progress: from !== to,
      useful: stepsLeft(played.after) < stepsLeft(played.before),
      questionOnly: words?.kind === 'prose' && words.text.endsWith('?') && from === to && words.denied.length === 0,
      denied: from === to && (words?.denied.length ?? 0) > 0,
      error: words?.text.includes('TypeError:') === true,
      testOnly: claims?.work === 'TESTING' && (from === to || deed.startsWith('test')) && !isCredited,
      blocked: claims?.status === 'BLOCKED' && !isCredited,
      credited: isCredited,
      overruled: claims?.exit === true && (open || isRed || untrue) && !isCredited,
      chars: end.kind === 'exited' && end.code === 0 ? outputChars : null,
    };
  });
}
