import { computeShownState, type TaskObstacle, type TaskProgress } from '../tasks/task.ts';
import { findNearest } from '../text/nearest.ts';

/** The labels that show on an issue what Ralph does with it. An issue has at most one of them. */
export type LifecycleLabel = 'ralph:working' | 'ralph:done' | 'ralph:failed' | 'ralph:blocked' | 'ralph:needs-approval';

/**
 * Definitions used to create missing labels: a colour in six hex digits and a description of at most 100 characters.
 */
export const lifecycleLabels: Readonly<
  Record<LifecycleLabel, { readonly color: string; readonly description: string }>
> = {
  'ralph:working': { color: '1d76db', description: 'Ralph is working on this issue' },
  'ralph:done': { color: '0e8a16', description: 'Ralph has finished this issue; its work waits in a pull request' },
  'ralph:failed': { color: 'b60205', description: 'Ralph gave up on this issue: it took too many iterations' },
  'ralph:blocked': { color: 'd93f0b', description: 'Ralph cannot continue with this issue without a person' },
  'ralph:needs-approval': {
    color: 'fbca04',
    description: 'The text was changed after approval: add the task label again',
  },
};

/** The label that is added with the notice that an issue waits for approval. */
export const NOTICE_LABEL: LifecycleLabel = 'ralph:needs-approval';

/** Returns the label for the state of a task, or null for a task that was not begun. */
export function chooseTaskLabel(
  progress: Pick<TaskProgress, 'state'>,
  obstacle: TaskObstacle | null,
): LifecycleLabel | null {
  const state = computeShownState(progress);
  if (obstacle === 'withdrawn') return null;
  if (state === 'done') return 'ralph:done';
  if (obstacle === 'needs-approval') return NOTICE_LABEL;
  return (
    {
      todo: null,
      'in-progress': 'ralph:working',
      failed: 'ralph:failed',
      blocked: 'ralph:blocked',
      stuck: 'ralph:blocked',
    } as const
  )[state];
}

/** Returns the label with which a person asks for a proposal of sub-tasks. Ralph removes it once it has acted on it. */
export function namePlanLabel(taskLabel: string): string {
  return `${taskLabel}:plan`;
}

/** Returns true if two label names are equal without case, as GitHub compares them. */
export function isSameLabel(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Returns true if the labels include `name`, ignoring case. */
export function hasLabel(labels: readonly string[], name: string): boolean {
  return labels.some((label) => isSameLabel(label, name));
}

/** Returns true if the labels say that the issue waits for approval. */
export function waitsForApproval(labels: readonly string[]): boolean {
  return hasLabel(labels, NOTICE_LABEL);
}

/**
 * Returns the labels to add and remove so that `wanted` is the only label of Ralph; both lists are empty if nothing has
 * to change. Names are compared without case.
 */
export function computeLabelChange(
  current: readonly string[],
  wanted: LifecycleLabel | null,
): { readonly add: readonly LifecycleLabel[]; readonly remove: readonly string[] } {
  const ours = current.filter((name) => Object.hasOwn(lifecycleLabels, name.toLowerCase()));
  return {
    add: wanted === null || ours.some((name) => name.toLowerCase() === wanted) ? [] : [wanted],
    remove: ours.filter((name) => name.toLowerCase() !== wanted),
  };
}

/** Returns the definition used to create a missing label. */
export function getLabelDefinition(name: LifecycleLabel): {
  readonly name: LifecycleLabel;
  readonly color: string;
  readonly description: string;
} {
  return { name, ...lifecycleLabels[name] };
}

/**
 * Returns the message for people if the repository lacks the task label (renamed, deleted or never created), so that no
 * issue can have it; null if the label exists.
 */
export function warnOfMissingLabel(taskLabel: string, labels: readonly string[]): string | null {
  if (labels.some((name) => isSameLabel(name, taskLabel))) return null;
  const similar = similarLabel(taskLabel, labels);
  const remedy =
    similar === null
      ? `Create it under Issues → Labels, or set the input \`task-label\` to the label that you use.`
      : `If it was renamed, set the input \`task-label\` to "${similar}"; otherwise create it under Issues → Labels.`;
  return `There is no label "${taskLabel}" in this repository, so no issue can have it. ${remedy}`;
}

/**
 * Returns the label that the task label may have been renamed to: one that contains it or is nearly equal, excluding
 * Ralph's own labels; null if none.
 */
function similarLabel(taskLabel: string, labels: readonly string[]): string | null {
  const others = labels.filter((name) => !name.toLowerCase().startsWith('ralph:'));
  const wanted = taskLabel.toLowerCase();
  const containing = others.filter((name) => name.toLowerCase().includes(wanted) || isPartOfLabel(name, wanted));
  return containing[0] ?? findNearest(taskLabel, others);
}

/**
 * Returns true if the wanted label contains this name. Names of fewer than four characters are ignored, because too
 * many labels contain them.
 */
function isPartOfLabel(name: string, wanted: string): boolean {
  return name.length >= 4 && wanted.includes(name.toLowerCase());
}
