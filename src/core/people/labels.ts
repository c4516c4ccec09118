import { shownState, type TaskObstacle, type TaskProgress } from '../tasks/task.ts';
import { nearest } from '../text/nearest.ts';

/** The labels by which people see on an issue how Ralph stands with it. At most one of them is on an issue. */
export type LifecycleLabel = 'ralph:working' | 'ralph:done' | 'ralph:failed' | 'ralph:blocked' | 'ralph:needs-approval';

/** How the labels are created where they are missing: colour in six hex digits, description of at most 100 characters. */
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

/** Put on with the notice that an issue waits for approval. */
export const NOTICE_LABEL: LifecycleLabel = 'ralph:needs-approval';

/** The label that says how a task stands; null: none, for a task that was not begun. */
export function labelFor(progress: Pick<TaskProgress, 'state'>, obstacle: TaskObstacle | null): LifecycleLabel | null {
  const state = shownState(progress);
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

/** GitHub takes names of labels for the same in any case. */
export function sameLabel(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

export function hasLabel(labels: readonly string[], name: string): boolean {
  return labels.some((label) => sameLabel(label, name));
}

/** Whether the labels say that the issue waits for approval. */
export function waitsForApproval(labels: readonly string[]): boolean {
  return hasLabel(labels, NOTICE_LABEL);
}

/** What to put on and take off, so that of our labels an issue has `wanted` alone; both empty when it is so already. Names are compared without case. */
export function labelChange(
  current: readonly string[],
  wanted: LifecycleLabel | null,
): { readonly add: readonly LifecycleLabel[]; readonly remove: readonly string[] } {
  const ours = current.filter((name) => Object.hasOwn(lifecycleLabels, name.toLowerCase()));
  return {
    add: wanted === null || ours.some((name) => name.toLowerCase() === wanted) ? [] : [wanted],
    remove: ours.filter((name) => name.toLowerCase() !== wanted),
  };
}

/** What the label is created with where the repository lacks it. */
export function definitionOf(name: LifecycleLabel): {
  readonly name: LifecycleLabel;
  readonly color: string;
  readonly description: string;
} {
  return { name, ...lifecycleLabels[name] };
}

/** What to tell people when no issue has the task label because the repository has no such label: renamed, deleted or never made. Null: the label exists. */
export function missingLabel(taskLabel: string, labels: readonly string[]): string | null {
  if (labels.some((name) => sameLabel(name, taskLabel))) return null;
  const similar = similarLabel(taskLabel, labels);
  const cure =
    similar === null
      ? `Create it under Issues → Labels, or set the input \`task-label\` to the label that you use.`
      : `If it was renamed, set the input \`task-label\` to "${similar}"; otherwise create it under Issues → Labels.`;
  return `There is no label "${taskLabel}" in this repository, so no issue can have it. ${cure}`;
}

/** The label that the task label may have been renamed to: one that contains it, or one that is nearly the same. Ralph's own labels are not meant. */
function similarLabel(taskLabel: string, labels: readonly string[]): string | null {
  const others = labels.filter((name) => !name.toLowerCase().startsWith('ralph:'));
  const wanted = taskLabel.toLowerCase();
  const containing = others.filter((name) => name.toLowerCase().includes(wanted) || isPartOf(name, wanted));
  return containing[0] ?? nearest(taskLabel, others);
}

/** A short word is part of too many. */
function isPartOf(name: string, wanted: string): boolean {
  return name.length >= 4 && wanted.includes(name.toLowerCase());
}
