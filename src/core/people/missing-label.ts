import { nearest } from '../text/nearest.ts';
import { sameLabel } from './labels.ts';

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
