import { issueOfTask } from '../../core/tasks/task.ts';
import type { RunReport } from '../../handover/report.ts';
import { isQueue, laneOf, lastVerification, settingOf, tasksOf } from '../facts.ts';
import { stillAgainst } from '../sentences/feedback.ts';
import { command, step, type NextStep } from './step.ts';

/** Returns how the work gets into the base branch: what is against that comes first. */
export function stepsToMerge(report: RunReport): readonly NextStep[] {
  if (lastVerification(report).kind === 'failed') return [step('look', 'the failing tests before anything is merged')];
  const against = objections(report);
  if (against.length > 0) return against;
  return laneOf(report)?.checks?.unstarted === true
    ? [
        step('set', 'have the checks run, which have not started'),
        step('review', 'the pull request', '; then '),
        AND_MERGE,
      ]
    : [step('review', 'the pull request'), AND_MERGE];
}

const AND_MERGE = step('merge', 'it', ' and ');

/** Returns to look at what people and CI still have against the pull request; empty where nothing is known. */
export function objections(report: RunReport): readonly NextStep[] {
  const why = stillAgainst(report);
  return why === '' ? [] : [step('look', `the pull request before anything is merged: ${why}`)];
}

/** Returns what ends the wait for a review. */
export function stepsToReview(report: RunReport): readonly NextStep[] {
  const held = laneOf(report)?.held ?? null;
  if (held === null || report.kind === 'worked')
    return [
      ...[step('review', 'and merge what is open'), step('close', 'it', ', or ')],
      step('wait', 'then the queue continues by itself', ': '),
    ];
  if (held.refusal !== null)
    return [
      ...[step('draft', 'the pull request to a draft by hand'), step('merge', 'it', ', or ')],
      step('wait', 'then the next run continues', ': '),
    ];
  return [
    ...[step('merge', 'it'), step('wait', 'then work continues by itself', ': ')],
    { ...step('draft', 'it to a draft'), lead: 'to have more work in it first, ' },
    { ...command('run'), joint: ', or ' },
  ];
}

/** Returns what people can do with a pull request that is ready: merge it, ask for more, reject it. */
export function nextStepsWhenReady(report: RunReport): readonly NextStep[] {
  const [change, ...others] = stepsToChange(report);
  return [
    ...stepsToMerge(report),
    ...(change === undefined ? [] : [{ ...change, lead: 'to request a change, ' }, ...others]),
    { ...step('close', 'the pull request'), lead: 'to reject it, ' },
  ];
}

/** Where reviews are not answered, a task that is done stays done: what is missing is new work. */
function stepsToChange(report: RunReport): readonly NextStep[] {
  if (settingOf(report)?.answersReviews === true)
    return [step('review', 'it'), step('wait', 'Ralph answers each comment of a review', ': ')];
  if (!tasksOf(report).some(({ task }) => issueOfTask(task) !== null)) return [step('set', 'add a task for it')];
  const own = isQueue(report) ? [step('wait', '(that opens a pull request of its own)', ' ')] : [];
  return [step('set', 'describe it in the issue'), { ...command('run', ['the issue']), joint: ' and ' }, ...own];
}

/** Steps after auto-merge was switched off, because there are commits that nobody has reviewed. */
export const AFTER_DISARMING: readonly NextStep[] = [
  ...[step('review', 'the new commits'), { ...step('arm'), lead: 'then ' }],
  step('merge', 'the pull request', ', or '),
];
