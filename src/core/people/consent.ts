import type { TaskIssue } from '../tasks/issue-task.ts';
import type { Approval } from '../tasks/task.ts';
import { namesOf } from '../text/phrase.ts';
import { NOTICE_LABEL, sameLabel } from './labels.ts';

/** What somebody did to an issue; `by` is null where GitHub does not say who. Instants in ms, cut to whole seconds by GitHub. */
interface Act<Account> {
  readonly by: Account | null;
  readonly at: number;
}

/** What happened to an issue, as far as consent depends on it, each list oldest first. */
export interface History<Account> {
  /** The task label and `ralph:needs-approval` put on and taken off. */
  readonly labelings: readonly (Act<Account> & { readonly kind: 'labeled' | 'unlabeled'; readonly label: string })[];
  readonly reopenings: readonly Act<Account>[];
  /** Changes of title or body; the first writing is not a change. */
  readonly edits: readonly Act<Account>[];
  /** Whether any of the lists is cut: older entries exist that are not in it. */
  readonly truncated: boolean;
}

interface ConsentQuestion<Account> {
  readonly history: History<Account>;
  readonly taskLabel: string;
  /** Hash of the text as it is now. */
  readonly text: string;
  /** The text that was approved before, and when it was asked for; null: none is known. */
  readonly approved: Pick<Approval, 'text' | 'at'> | null;
  readonly isTrusted: (account: Account) => boolean;
}

/** Whether an issue may be worked: the label that somebody trusted put on is consent to the text as it was then. */
export type Consent =
  /** `at`: when they last asked for the work, by the label or by reopening the issue. */
  | { readonly kind: 'given'; readonly by: string; readonly at: number }
  /** `askedAt`: as above; `editor`, `at`: the newest change that nobody approved; `isNoticed`: the issue says so already. */
  | {
      readonly kind: 'changed';
      readonly by: string;
      readonly askedAt: number;
      readonly editor: string | null;
      readonly at: number;
      readonly isNoticed: boolean;
    }
  /** The label is there, but nobody trusted put it on; `by`: who did, null: not known. */
  | { readonly kind: 'never'; readonly by: string | null };

/** So many changes of a body GitHub shows at once. */
const SHOWN_EDITS = 50;

/** Judges by what GitHub says happened. What is not known is not consent. */
export function judgeConsent<Account extends { readonly login: string }>({
  history,
  taskLabel,
  text,
  approved,
  isTrusted,
}: ConsentQuestion<Account>): Consent {
  const labeling = standingLabeling(history, taskLabel);
  const labeler = labeling?.by ?? null;
  if (labeling === null || labeler === null || !isTrusted(labeler))
    return { kind: 'never', by: labeler?.login ?? null };
  const { by, consentAt } = { by: labeler.login, consentAt: labeling.at };
  const isForeign = ({ by: who }: Act<Account>): boolean => who === null || !isTrusted(who);

  const askedAt = Math.max(
    consentAt,
    ...history.reopenings.filter((reopening) => !isForeign(reopening)).map(({ at }) => at),
  );

  const edits = editsSince(history, consentAt);
  const seen = edits.findLast(isForeign);
  const foreign = seen ?? (mayHideEdits(history, edits) ? { by: null, at: edits.at(-1)?.at ?? consentAt } : null);
  // A person who labelled or corrected another text since then does not want the old one brought back.
  const isOvertaken =
    (approved?.at ?? 0) < consentAt ||
    (seen !== undefined && edits.some((edit) => !isForeign(edit) && edit.at <= seen.at));
  if (foreign !== null && (approved?.text !== text || isOvertaken)) {
    const isNoticed = history.labelings.some(
      ({ kind, label, at }) => kind === 'labeled' && sameLabel(label, NOTICE_LABEL) && at >= foreign.at,
    );
    return { kind: 'changed', by, askedAt, editor: foreign.by?.login ?? null, at: foreign.at, isNoticed };
  }
  return { kind: 'given', by, at: askedAt };
}

/** Who put the task label on that is there now; null: GitHub does not say. */
export function labellerOf<Account>(history: History<Account>, taskLabel: string): Account | null {
  return standingLabeling(history, taskLabel)?.by ?? null;
}

/** Consent that was given to this very text before, and nothing has happened to the issue since then; null: it must be judged. Who gave it then is not asked about again, so it is for work that is finished. */
export function consentAsBefore<Account extends { readonly login: string }>({
  history,
  taskLabel,
  text,
  approved,
}: Omit<ConsentQuestion<Account>, 'isTrusted'>): Extract<Consent, { kind: 'given' }> | null {
  const labeling = standingLabeling(history, taskLabel);
  if (approved === null || approved.text !== text || labeling?.by == null || history.truncated) return null;
  const { at } = approved;
  const isUntouched =
    labeling.at <= at && history.reopenings.every((act) => act.at <= at) && editsSince(history, at).length === 0;
  return isUntouched ? { kind: 'given', by: labeling.by.login, at } : null;
}

/** Whom `judgeConsent` will ask about. */
export function accountsThatMatter<Account>(history: History<Account>, taskLabel: string): readonly Account[] {
  const labeling = standingLabeling(history, taskLabel);
  if (labeling === null) return [];
  const acts = [
    labeling,
    ...editsSince(history, labeling.at),
    ...history.reopenings.filter(({ at }) => at > labeling.at),
  ];
  return acts.map(({ by }) => by).filter((by) => by !== null);
}

/** A label that is put on where it is already makes no event: the newest event of the task label says how it came to be there. */
function standingLabeling<Account>({ labelings }: History<Account>, taskLabel: string): Act<Account> | null {
  const newest = labelings.filter(({ label }) => sameLabel(label, taskLabel)).at(-1);
  return newest?.kind === 'labeled' ? newest : null;
}

/** Within one second nobody can tell what came first: it counts as a change of what was approved. */
function editsSince<Account>({ edits }: History<Account>, at: number): readonly Act<Account>[] {
  return edits.filter((edit) => edit.at >= at);
}

/** Whether GitHub may keep changes back that came after the label; it lists the newest ones. */
function mayHideEdits<Account>({ edits, truncated }: History<Account>, since: readonly Act<Account>[]): boolean {
  const showsOlder = since.length < edits.length && since.length < SHOWN_EDITS;
  return truncated && since.length > 0 && !showsOlder;
}

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
