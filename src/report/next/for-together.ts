import { nameOfLane } from '../../core/tasks/ids.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import type { EndOfLane, ParallelEnd } from '../../handover/together.ts';
import { createNextStep, type NextStep } from './step.ts';

/** The kinds of outcomes that need a person. */
const TROUBLE: readonly string[] = ['failed', 'halted', 'blocked'];

/** The kinds of outcomes after which the next run continues by itself. */
const UNFINISHED: readonly string[] = ['limit', 'parked', 'cancelled'];

/** Returns true if a branch needs a person, or its jobs published nothing. */
export function isInTrouble({ run }: EndOfLane): boolean {
  return run === null || TROUBLE.includes(run.outcome.kind);
}

/** Returns what a person can do after a run of several branches: those that need them first, then what is ready. */
export function suggestTogether({ lanes, train }: ParallelEnd): readonly NextStep[] {
  const order = train?.pulls.map(({ number }) => number) ?? [];
  const pullsOf = (some: readonly EndOfLane[]): readonly string[] =>
    some
      .flatMap(({ run }) => run?.pullRequest ?? [])
      .toSorted((one, other) => order.indexOf(one) - order.indexOf(other) || one - other)
      .map((number) => `#${String(number)}`);
  const troubled = lanes.filter(isInTrouble);
  const asking = pullsOf(troubled);
  const silent = troubled.filter(({ run }) => (run?.pullRequest ?? null) === null);
  const ready = pullsOf(lanes.filter(({ run }) => run?.outcome.kind === 'complete'));
  const isContinued = lanes.some(({ run }) => run === null || UNFINISHED.includes(run.outcome.kind));
  const steps = [
    ...(asking.length === 0
      ? []
      : [createNextStep('look', `what ${listFirstNames(asking)} ${asking.length === 1 ? 'asks' : 'ask'} of you`)]),
    ...(silent.length === 0
      ? []
      : [
          createNextStep(
            'look',
            `the logs of the jobs for ${listFirstNames(silent.map(({ lane }) => nameOfLane(lane)))}`,
          ),
        ]),
    ...(ready.length === 0 ? [] : [createNextStep('review', `and merge ${ready.join(', then ')}`)]),
    ...(isContinued ? [createNextStep('wait', 'the next run continues what is unfinished')] : []),
  ];
  return steps.length === 0 ? [createNextStep('nothing', ' to do')] : steps;
}
