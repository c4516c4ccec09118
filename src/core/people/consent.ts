import type { TaskIssue } from '../tasks/issue-task.ts';
import type { Approval } from '../tasks/task.ts';
import { listFirstNames } from '../text/phrase.ts';
import { NOTICE_LABEL, isSameLabel } from './labels.ts';

/** An action on an issue. Instants are in ms; GitHub cuts them to whole seconds. */
interface Act<Account> {
  /** The account; null if GitHub does not name it. */
  readonly by: Account | null;
  readonly at: number;
}

/** The events of an issue that consent depends on, each list oldest first. */
export interface ConsentHistory<Account> {
  /** Additions and removals of the task label and of `ralph:needs-approval`. */
  readonly labelings: readonly (Act<Account> & { readonly kind: 'labeled' | 'unlabeled'; readonly label: string })[];
  readonly reopenings: readonly Act<Account>[];
  /**
   * Acts that gave the issue, or took from it, a property that a query demands, such as `label:bug`. Properties that it
   * was opened with count as given by its author.
   */
  readonly given: readonly (Act<Account> & { readonly kind: 'set' | 'unset'; readonly what: string })[];
  /** Changes of title or body; creating the issue is not a change. */
  readonly edits: readonly Act<Account>[];
  /** True if a list is cut, so that older entries are missing. */
  readonly truncated: boolean;
}

interface ConsentQuestion<Account> {
  readonly history: ConsentHistory<Account>;
  readonly taskLabel: string;
  /** The properties that the query demands; empty if no query finds the issue. */
  readonly demands: readonly string[];
  /** Hash of the current text. */
  readonly text: string;
  /** The text that was last approved and the instant at which the work was asked for; null if not known. */
  readonly approved: Pick<Approval, 'text' | 'at'> | null;
  readonly isTrusted: (account: Account) => boolean;
  /** Instant in ms. */
  readonly now: number;
}

/**
 * The consent to work on an issue. A trusted account that adds the label, or a property that a query demands, approves
 * the text as it is at that moment. A query that names the author approves the first text that a run sees.
 */
export type Consent =
  /** `at`: when the account last asked for the work, by the label or by reopening the issue. */
  | { readonly kind: 'given'; readonly by: string; readonly at: number }
  /**
   * `askedAt`: when the work was last asked for; `editor`, `at`: the newest unapproved change; `isNoticed`: the issue
   * already says so.
   */
  | {
      readonly kind: 'changed';
      readonly by: string;
      readonly askedAt: number;
      readonly editor: string | null;
      readonly at: number;
      readonly isNoticed: boolean;
    }
  /** No trusted account asked for the work; `by` is the account that added the label, null if not known. */
  | { readonly kind: 'never'; readonly by: string | null };

/**
 * Consent that a person gave by approving a proposal or by a request: the text that they saw, the person, the instant,
 * and the maximum cost of the work (null: no maximum).
 */
export interface Grant extends Pick<Approval, 'text' | 'at'> {
  readonly by: { readonly login: string; readonly id: number | null; readonly kind: 'user' | 'bot' };
  readonly ceilingUsd: number | null;
  readonly isRequest?: true;
}

/**
 * Returns the history with the task label attributed to the person who gave the grant. For an approved proposal, this
 * holds until anybody changes the label; a request counts as a new labelling by that person, whoever added the label
 * before. A text that differs without a known edit counts as changed.
 */
export function withGrant(
  history: ConsentHistory<Grant['by']>,
  { taskLabel, text }: Pick<ConsentQuestion<Grant['by']>, 'taskLabel' | 'text'>,
  grant: Grant | undefined,
): ConsentHistory<Grant['by']> {
  const isTask = ({ label }: { readonly label: string }): boolean => isSameLabel(label, taskLabel);
  const ofLabel = history.labelings.filter(isTask);
  const [made = null, ...later] = ofLabel;
  // A grant replaces only a first label that Ralph added; one that a person added stays. A cut history does not show
  // who added the first label, so then the grant replaces none.
  const isReplaceable = made === null || (made.kind === 'labeled' && made.by?.kind === 'bot');
  if (grant === undefined) return history;
  const { by, at, isRequest } = grant;
  const since = ofLabel.filter((act) => act.at >= at);
  const counts =
    isRequest === true
      ? since.length <= 1 &&
        // Ralph may add the label with a person's token, so a single label by anybody is accepted. In a cut history, a
        // removal before it may be missing, so only a label by a bot is.
        since.every((act) => act.kind === 'labeled' && (act.by?.kind === 'bot' || !history.truncated))
      : later.length === 0 && isReplaceable && !history.truncated;
  if (!counts) return history;
  const isHidden = grant.text !== text && history.edits.length === 0;
  return {
    ...history,
    labelings: [...history.labelings.filter((one) => !isTask(one)), { kind: 'labeled', label: taskLabel, by, at }],
    edits: isHidden ? [{ by: null, at }] : history.edits,
  };
}

/** Number of edits of a body that GitHub shows at once. */
const SHOWN_EDITS = 50;

/**
 * Assumed maximum lead of this machine's clock over the clock of GitHub, in ms. Edits up to this long before an
 * approval that follows a query count as made after it.
 */
const CLOCK_SLACK_MS = 600_000;

/** Judges consent from the events that GitHub reports. Unknown facts never count as consent. */
export function judgeConsent<Account extends { readonly login: string }>(question: ConsentQuestion<Account>): Consent {
  const { history, taskLabel, text, approved, isTrusted, demands, now } = question;
  const isForeign = ({ by: who }: Act<Account>): boolean => who === null || !isTrusted(who);
  const asked = requestsInHistory(history, { taskLabel, demands })
    .filter((acts) => !acts.some(isForeign))
    .flatMap((acts) => acts.slice(-1))
    .toSorted(byTime)
    .at(-1);
  // An app writes text of other people, so a query that names an app approves nothing.
  const isNamedPerson = (what: string): boolean => /^author:.*(?<!\[bot\])$/.test(what) && demands.includes(what);
  const author = history.given.find(({ what }) => isNamedPerson(what));
  const by = (asked ?? author)?.by?.login;
  if (by === undefined) return { kind: 'never', by: findLabeller(history, taskLabel)?.login ?? null };
  const isSeenFirst = approved === null || approved.text === text;
  const consentAt = asked?.at ?? (isSeenFirst ? Infinity : approved.at - CLOCK_SLACK_MS);

  const askedAt = Math.max(
    asked?.at ?? approved?.at ?? now,
    ...history.reopenings.filter((reopening) => !isForeign(reopening)).map(({ at }) => at),
  );

  const edits = editsSince(history, consentAt);
  const seen = edits.findLast(isForeign);
  const isUnexplained = asked === undefined && !isSeenFirst && edits.length === 0;
  const isHidden = isUnexplained || mayHideEdits(history, edits);
  const foreign = seen ?? (isHidden ? { by: null, at: edits.at(-1)?.at ?? consentAt } : null);
  // A person who has labelled the issue or corrected its text since then no longer approves the old text.
  const isOvertaken =
    (approved?.at ?? 0) < consentAt ||
    (seen !== undefined && edits.some((edit) => !isForeign(edit) && edit.at <= seen.at));
  if (foreign !== null && (approved?.text !== text || isOvertaken)) {
    const isNoticed = history.labelings.some(
      ({ kind, label, at }) => kind === 'labeled' && isSameLabel(label, NOTICE_LABEL) && at >= foreign.at,
    );
    return { kind: 'changed', by, askedAt, editor: foreign.by?.login ?? null, at: foreign.at, isNoticed };
  }
  return { kind: 'given', by, at: askedAt };
}

/** Returns the account that added the current task label; null if GitHub does not name it. */
export function findLabeller<Account>(history: ConsentHistory<Account>, taskLabel: string): Account | null {
  return currentLabeling(history, taskLabel)?.by ?? null;
}

/**
 * Returns the consent that was given to exactly this text if nothing has happened to the issue since; null if consent
 * must be judged. The labeller's permission is not checked again, so this is only for finished work.
 */
export function findUnchangedConsent<Account extends { readonly login: string }>(
  question: Omit<ConsentQuestion<Account>, 'isTrusted' | 'now' | 'demands'>,
): Extract<Consent, { kind: 'given' }> | null {
  const { history, taskLabel, text, approved } = question;
  const labeling = currentLabeling(history, taskLabel);
  if (approved === null || approved.text !== text || labeling?.by == null || history.truncated) return null;
  const { at } = approved;
  const isUntouched =
    labeling.at <= at && history.reopenings.every((act) => act.at <= at) && editsSince(history, at).length === 0;
  return isUntouched ? { kind: 'given', by: labeling.by.login, at } : null;
}

/** Returns the accounts whose permission `judgeConsent` needs. */
export function listAccountsToLookUp<Account>({
  history,
  ...query
}: Pick<ConsentQuestion<Account>, 'history' | 'taskLabel' | 'demands'>): readonly Account[] {
  const requests = requestsInHistory(history, query).flat().toSorted(byTime);
  const [first] = requests;
  if (first === undefined) return [];
  const acts = [...requests, ...editsSince(history, first.at), ...history.reopenings.filter(({ at }) => at > first.at)];
  return acts.map(({ by }) => by).filter((by) => by !== null);
}

/**
 * Returns groups of acts that request the work; a group is accepted only if trusted accounts performed all of its acts.
 * One group is the act that added the label. The other is the newest act that met a demand of the query, because only
 * that act made the issue a task.
 */
function requestsInHistory<Account>(
  history: ConsentHistory<Account>,
  { taskLabel, demands }: Pick<ConsentQuestion<Account>, 'taskLabel' | 'demands'>,
): readonly (readonly Act<Account>[])[] {
  const labeling = currentLabeling(history, taskLabel);
  const given = demands
    .flatMap((demand) => {
      const acts = history.given.filter(({ what }) => what === demand);
      return demand === PROJECT ? acts : acts.slice(-1).filter(({ kind }) => kind === 'set');
    })
    .toSorted(byTime);
  const last = given.at(-1);
  const isProject = last?.what === PROJECT;
  // Project events do not name their project, so they are accepted only if trusted accounts caused all of them.
  const ofQuery =
    last === undefined || (isProject && history.truncated)
      ? []
      : given.filter(({ at, what }) => at >= last.at || (isProject && what === PROJECT));
  return labeling === null ? [ofQuery] : [[labeling], ofQuery];
}

/** The demand for membership in any project; the events of projects do not name the project. */
const PROJECT = 'project:';

function byTime(one: Pick<Act<unknown>, 'at'>, other: Pick<Act<unknown>, 'at'>): number {
  return one.at - other.at;
}

/**
 * Returns the event that added the current task label. Adding a label that is already present creates no event, so the
 * newest event decides.
 */
function currentLabeling<Account>({ labelings }: ConsentHistory<Account>, taskLabel: string): Act<Account> | null {
  const newest = labelings.filter(({ label }) => isSameLabel(label, taskLabel)).at(-1);
  return newest?.kind === 'labeled' ? newest : null;
}

/**
 * Returns the edits since an instant. Events within the same second have no known order, so such an edit counts as
 * later.
 */
function editsSince<Account>({ edits }: ConsentHistory<Account>, at: number): readonly Act<Account>[] {
  return edits.filter((edit) => edit.at >= at);
}

/** Returns true if GitHub may hide edits made after the label; it lists only the newest ones. */
function mayHideEdits<Account>({ edits, truncated }: ConsentHistory<Account>, since: readonly Act<Account>[]): boolean {
  const showsOlder = since.length < edits.length && since.length < SHOWN_EDITS;
  return truncated && since.length > 0 && !showsOlder;
}

/** An issue that waits for the label to be added again. */
export interface ApprovalNotice {
  readonly issue: number;
  readonly labels: readonly string[];
  /** The account that added the label before. */
  readonly by: string;
  /** The account that changed the text; null if GitHub does not name it. */
  readonly editor: string | null;
  readonly at: number;
}

/** Returns the notice for an issue; null if the issue already has it. */
export function buildApprovalNotice(
  { number, labels }: Pick<TaskIssue, 'number' | 'labels'>,
  consent: Extract<Consent, { kind: 'changed' }>,
): ApprovalNotice | null {
  return consent.isNoticed ? null : { issue: number, labels, by: consent.by, editor: consent.editor, at: consent.at };
}

/** Returns the warning about labelled issues that are not tasks because an untrusted account added the label. */
export function warnOfUntrustedLabels(
  label: string,
  strangers: readonly { readonly number: number; readonly by: string | null }[],
): readonly string[] {
  if (strangers.length === 0) return [];
  const named = strangers.map(
    ({ number, by }) => `#${number} (${by === null ? 'GitHub does not say who added it' : `added by ${by}`})`,
  );
  return [
    `The label "${label}" counts only when somebody with write permission, or a bot of \`allowed-bots\`, adds it. Left out: ${listFirstNames(named)}. To have Ralph work on one, remove the label and add it again.`,
  ];
}

/** Returns the warning about issues that a query finds but that no trusted account made tasks. */
export function warnOfUnaskedIssues(label: string, numbers: readonly number[]): readonly string[] {
  if (numbers.length === 0) return [];
  const named = listFirstNames(numbers.map((number) => `#${number}`));
  return [
    `An issue that \`issue-query\` finds counts only if the last change that made it match came from somebody with write permission or from a bot of \`allowed-bots\`. Left out: ${named}. To have Ralph work on one, add the label "${label}".`,
  ];
}

/** Returns the warning that the run did not look at the rest of the queue. */
export function warnOfTooManyPeople(count: number): string {
  return `More than ${count} people have labelled or changed the issues at the head of the queue, and a run checks at most ${count} permissions. Remove the label from issues that Ralph should not work on; the issues behind them wait.`;
}

/** Returns the warning about tasks whose text changed after approval. */
export function warnOfChanges(
  label: string,
  changed: readonly { readonly number: number; readonly editor: string | null }[],
): readonly string[] {
  if (changed.length === 0) return [];
  const named = changed.map(({ number, editor }) => `#${number} (by ${editor ?? 'somebody unknown'})`);
  return [
    `Changed after approval by somebody without write permission, so not worked on: ${listFirstNames(named)}. Read the text; if it is fine, add the label "${label}", or remove it and add it again.`,
  ];
}
