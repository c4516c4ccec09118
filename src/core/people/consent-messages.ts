import { namesOf } from '../text/lists.ts';
import type { TaskIssue } from '../tasks/issue-task.ts';
import type { Consent } from './consent.ts';

/** An issue that waits for the label to be put on again. `by`: who put it on; `editor` is null where GitHub does not say who. */
export interface ApprovalNotice {
  readonly issue: number;
  readonly labels: readonly string[];
  readonly by: string;
  readonly editor: string | null;
  readonly at: number;
}

/** The notice for an issue; null when the issue has it already. */
export function noticeFor(
  { number, labels }: Pick<TaskIssue, 'number' | 'labels'>,
  consent: Extract<Consent, { kind: 'changed' }>,
): ApprovalNotice | null {
  return consent.isNoticed ? null : { issue: number, labels, by: consent.by, editor: consent.editor, at: consent.at };
}

/** The warning about labelled issues that are not tasks, because the label was put on by somebody whose label does not count. */
export function warnOfStrangers(
  label: string,
  strangers: readonly { readonly number: number; readonly by: string | null }[],
): readonly string[] {
  if (strangers.length === 0) return [];
  const named = strangers.map(
    ({ number, by }) => `#${number} (${by === null ? 'GitHub does not say who added it' : `added by ${by}`})`,
  );
  return [
    `The label "${label}" counts only when somebody with write permission, or a bot of \`allowed-bots\`, adds it. Left out: ${namesOf(named)}. To have Ralph work on one, remove the label and add it again.`,
  ];
}

/** Why the run did not look at the rest of the queue. */
export function tooManyPeople(count: number): string {
  return `The issues at the head of the queue were labelled or changed by more than ${count} people, and a run asks GitHub about no more than that. Remove the label from issues that Ralph should not work on; the issues behind them wait.`;
}

/** Why the run does not work on tasks whose text changed. */
export function warnOfChanges(
  label: string,
  changed: readonly { readonly number: number; readonly editor: string | null }[],
): readonly string[] {
  if (changed.length === 0) return [];
  const named = changed.map(({ number, editor }) => `#${number} (by ${editor ?? 'somebody unknown'})`);
  return [
    `Changed after approval by somebody without write permission, so not worked on: ${namesOf(named)}. Read the text; if it is fine, remove the label "${label}" and add it again.`,
  ];
}
