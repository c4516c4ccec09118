import {
  definitionOf,
  labelChange,
  labelFor,
  hasLabel,
  NOTICE_LABEL,
  waitsForApproval,
  type LifecycleLabel,
} from '../core/people/labels.ts';
import type { LaneState } from '../core/lane/state.ts';
import { progressOf } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import type { ApprovalNotice } from '../core/people/consent.ts';
import type { Intake } from '../handover/intake.ts';
import type { PublishDeps } from './deps.ts';
import { within } from './answers.ts';
import type { PullRequest } from '../ports/forge.ts';
import { textOf } from '../errors.ts';
import { sentence } from '../core/text/phrase.ts';

/** So many issues a run changes the labels of: a thousand requests an hour are all that a repository has. The others get theirs from later runs. */
const MAX_LABELLED_ISSUES = 30;
/** What fails for so many issues fails for all. */
const MAX_FAILURES = 3;

/** Which of our labels an issue should have alone (null: none), and the labels that it has. */
export interface LabelWish {
  readonly issue: number;
  readonly labels: readonly string[];
  readonly wanted: LifecycleLabel | null;
}

/** Which notices there were to give, and which of them people can read now. The label says that they can. */
export interface Notices {
  readonly notices: readonly ApprovalNotice[];
  readonly notified: readonly ApprovalNotice[];
}

/** How every issue of the lane should be labelled, now that so much is done; one whose notice could not be written stays as it is. */
export function labelWishes({
  tasks,
  progress,
  notices,
  notified,
}: Notices & { readonly tasks: readonly Task[]; readonly progress: LaneState['tasks'] }): readonly LabelWish[] {
  const listed = tasks.flatMap(({ id, obstacle, source }): LabelWish[] => {
    if (source.kind !== 'issue') return [];
    const wanted = labelFor(progressOf(progress, id), obstacle);
    // Nobody looked whether it still waits.
    const isUnknown = obstacle === 'unchecked' && wanted === null && waitsForApproval(source.labels);
    return isUnknown ? [] : [{ issue: source.number, labels: source.labels, wanted }];
  });
  const isListed = new Set(listed.map(({ issue }) => issue));
  const others = notified
    .filter(({ issue }) => !isListed.has(issue))
    .map(({ issue, labels }) => ({ issue, labels, wanted: NOTICE_LABEL }));
  const isUnnotified = new Set(notices.filter((notice) => !notified.includes(notice)).map(({ issue }) => issue));
  return [...listed, ...others].filter(({ issue }) => !isUnnotified.has(issue));
}

/** The same for a run that the gate ended: only what is certain, since this run has no claim to the lane and perhaps did not look who still waits. */
export function labelWishesOfEnd(
  { outcome, tasks, state, notes, answer }: Extract<Intake, { kind: 'end' }>,
  notified: Notices['notified'],
): readonly LabelWish[] {
  const isCertain =
    state !== null &&
    notes.claimedBy === null &&
    outcome.kind !== 'refused' &&
    outcome.reason !== 'answered' &&
    outcome.reason !== 'updated' &&
    answer?.text.kind !== 'doctor';
  // One that the lane never began may be another lane's right now.
  const isBegun = ({ id }: Task): boolean => state !== null && progressOf(state.tasks, id).state !== 'todo';
  const settled = isCertain
    ? tasks.filter((task) => task.source.kind === 'issue' && isBegun(task) && !waitsForApproval(task.source.labels))
    : [];
  return labelWishes({ tasks: settled, progress: state?.tasks ?? {}, notices: notes.notices, notified });
}

/** Puts our labels on issues and takes them off where they differ from what they should be; asks nothing of the others. The next run corrects what was refused. Returns warnings. */
export async function publishLabels(
  deps: Pick<PublishDeps, 'forge' | 'log' | 'stepWithinMs'>,
  wishes: readonly LabelWish[],
): Promise<readonly string[]> {
  const changes = wishes
    .map((wish) => ({ ...wish, ...labelChange(wish.labels, wish.wanted) }))
    .filter(({ add, remove }) => add.length + remove.length > 0);
  const writeAll = async (): Promise<void> => {
    let failures = 0;
    for (const { issue, labels, add, remove } of changes.slice(0, MAX_LABELLED_ISSUES)) {
      if (failures >= MAX_FAILURES) break;
      const changed = await deps.forge.changeLabels(issue, { from: labels, add: add.map(definitionOf), remove });
      if (changed.kind === 'refused') failures += 1;
      else
        deps.log.info(
          `labels of #${String(issue)}: ${[...add.map((name) => `+${name}`), ...remove.map((name) => `-${name}`)].join(' ')}`,
        );
    }
  };
  const unfinished = await within(deps.stepWithinMs, writeAll()).then(() => null, textOf);
  const warnings = unfinished === null ? [] : [`Some of the labels could not be written: ${unfinished}`];
  for (const warning of warnings) deps.log.warning(warning);
  return warnings;
}

/** Puts the labels of `pr-labels` on a pull request that lacks them; the next run tries again what was refused. Returns warnings. */
export async function labelPullRequest(
  { config, forge, log, stepWithinMs }: Pick<PublishDeps, 'config' | 'forge' | 'log' | 'stepWithinMs'>,
  { number, labels }: Pick<PullRequest, 'number' | 'labels'>,
): Promise<readonly string[]> {
  const missing = config.prLabels.filter((name) => !hasLabel(labels, name));
  if (missing.length === 0) return [];
  try {
    const added = await within(stepWithinMs, forge.addLabels(number, missing));
    if (added.kind === 'granted')
      log.info(`labels of #${String(number)}: ${missing.map((name) => `+${name}`).join(' ')}`);
    return [];
  } catch (error) {
    const warning = `The labels of pull request #${String(number)} could not be written: ${sentence(textOf(error))}`;
    log.warning(warning);
    return [warning];
  }
}
