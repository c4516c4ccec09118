import {
  getLabelDefinition,
  computeLabelChange,
  chooseTaskLabel,
  hasLabel,
  NOTICE_LABEL,
  waitsForApproval,
  type LifecycleLabel,
} from '../core/people/labels.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import { getProgress } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import type { ApprovalNotice } from '../core/people/consent.ts';
import type { EndIntake } from '../handover/intake.ts';
import type { PublishDeps } from './deps.ts';
import { withTimeLimit } from './answers.ts';
import type { PullRequest } from '../ports/forge.ts';
import { getErrorText } from '../errors.ts';
import { completeSentence } from '../core/text/phrase.ts';

/**
 * Maximum number of issues whose labels a run changes, because a repository has only 1,000 requests an hour. Later runs
 * label the others.
 */
const MAX_LABELLED_ISSUES = 30;
/** Number of failures after which labelling stops, because the cause is then the same for all issues. */
const MAX_FAILURES = 3;

/** The label of Ralph's that an issue should have (null means none), and the labels that it has. */
export interface LabelWish {
  readonly issue: number;
  readonly labels: readonly string[];
  readonly wanted: LifecycleLabel | null;
}

/** The notices to give, and those that people can read now, whose issues get their label. */
export interface Notices {
  readonly notices: readonly ApprovalNotice[];
  readonly notified: readonly ApprovalNotice[];
}

/**
 * Returns the labels that every issue of the lane should have after this run. An issue whose notice could not be
 * written is left out.
 */
export function chooseLabels(
  facts: Notices & { readonly tasks: readonly Task[]; readonly progress: LaneState['tasks'] },
): readonly LabelWish[] {
  const { tasks, progress, notices, notified } = facts;
  const listed = tasks.flatMap(({ id, obstacle, source }): LabelWish[] => {
    if (source.kind !== 'issue') return [];
    const wanted = chooseTaskLabel(getProgress(progress, id), obstacle);
    // Leave the label alone if this run did not check whether the issue still waits for approval.
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

/**
 * Returns the labels that are certain after a run that the gate ended. Leaves others as they are, because this run has
 * no claim to the lane and may not have checked which issues still wait.
 */
export function labelWishesOfEnd(
  { outcome, tasks, state, notes, answer }: EndIntake,
  notified: Notices['notified'],
): readonly LabelWish[] {
  const isCertain =
    state !== null &&
    notes.claimedBy === null &&
    outcome.kind !== 'refused' &&
    outcome.reason !== 'answered' &&
    outcome.reason !== 'updated' &&
    answer?.text.kind !== 'doctor';
  // A task that the lane never began may belong to another lane right now, so leave its label.
  const wasBegun = ({ id }: Task): boolean => state !== null && getProgress(state.tasks, id).state !== 'todo';
  const settled = isCertain
    ? tasks.filter((task) => task.source.kind === 'issue' && wasBegun(task) && !waitsForApproval(task.source.labels))
    : [];
  return chooseLabels({ tasks: settled, progress: state?.tasks ?? {}, notices: notes.notices, notified });
}

/**
 * Adds and removes our labels on issues where they differ from the wanted ones, and sends no requests for other issues.
 * The next run corrects what was refused. Returns warnings.
 */
export async function publishLabels(
  deps: Pick<PublishDeps, 'forge' | 'log' | 'stepWithinMs'>,
  wishes: readonly LabelWish[],
): Promise<readonly string[]> {
  const changes = wishes
    .map((wish) => ({ ...wish, ...computeLabelChange(wish.labels, wish.wanted) }))
    .filter(({ add, remove }) => add.length + remove.length > 0);
  const writeAll = async (): Promise<void> => {
    let failures = 0;
    for (const { issue, labels, add, remove } of changes.slice(0, MAX_LABELLED_ISSUES)) {
      if (failures >= MAX_FAILURES) break;
      const changed = await deps.forge.changeLabels(issue, { from: labels, add: add.map(getLabelDefinition), remove });
      if (changed.kind === 'refused') failures += 1;
      else
        deps.log.info(
          `labels of #${String(issue)}: ${[...add.map((name) => `+${name}`), ...remove.map((name) => `-${name}`)].join(' ')}`,
        );
    }
  };
  const unfinished = await withTimeLimit(deps.stepWithinMs, writeAll()).then(() => null, getErrorText);
  const warnings = unfinished === null ? [] : [`Some of the labels could not be written: ${unfinished}`];
  for (const warning of warnings) deps.log.warning(warning);
  return warnings;
}

/**
 * Adds the labels of `pr-labels` that the pull request lacks; the next run retries what was refused. Returns warnings.
 */
export async function labelPullRequest(
  { config, forge, log, stepWithinMs }: Pick<PublishDeps, 'config' | 'forge' | 'log' | 'stepWithinMs'>,
  { number, labels }: Pick<PullRequest, 'number' | 'labels'>,
): Promise<readonly string[]> {
  const missing = config.prLabels.filter((name) => !hasLabel(labels, name));
  if (missing.length === 0) return [];
  try {
    const added = await withTimeLimit(stepWithinMs, forge.addLabels(number, missing));
    if (added.kind === 'granted')
      log.info(`labels of #${String(number)}: ${missing.map((name) => `+${name}`).join(' ')}`);
    return [];
  } catch (error) {
    const warning = `The labels of pull request #${String(number)} could not be written: ${completeSentence(getErrorText(error))}`;
    log.warning(warning);
    return [warning];
  }
}
