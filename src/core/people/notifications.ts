import { z } from 'zod';
import { type Immutable, instantSchema } from '../policy.ts';
import { type LaneId, QUEUE, type TaskId } from '../tasks/ids.ts';

/** The people whom an input names. `auto`: the people who requested the work. */
export type Recipients =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'named'; readonly logins: readonly string[]; readonly teams: readonly string[] };

/** Maximum number of people mentioned in one comment. */
const MAX_MENTIONS = 5;

/** Matches a login of a person; logins of managed users contain a `_`. */
export const LOGIN_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$/;

/**
 * Maximum number of open notifications, which take about 18 KiB of a state's 64 KiB. Further needs of tasks wait until
 * one is settled.
 */
export const MAX_NOTIFICATIONS = 200;

/** Maximum number of notifying comments per lane in 24 hours. Further needs wait for a later run. */
export const MAX_NOTIFICATIONS_PER_DAY = 10;

/** The kinds of needs that people are notified of. */
export const notificationKinds = [
  'blocked',
  'stuck',
  'failed',
  'nothing_to_do',
  'withheld',
  'feedback_rounds',
  'push_refused',
  'needs_approval',
  'circuit_open',
  'halted',
  'base_is_red',
  'configuration',
  'usage_limit',
  'ready',
  'waiting_for_review',
  'auto_merge_off',
] as const;

export type NotificationKind = (typeof notificationKinds)[number];

export const notificationSchema = z.lazy(() =>
  z.object({
    kind: z.enum(notificationKinds),
    /** Id of the task, or the lane as `subjectOfLane` names it. */
    about: z.string().max(120),
    /** Number of the issue or pull request with the comment; null if only the webhook was notified. */
    thread: z.number().int().positive().nullable(),
    /** GitHub's id of the comment; null if GitHub refused the comment, which is not posted again. */
    comment: z.number().int().positive().nullable(),
    at: instantSchema,
  }),
);

/** A comment by which people were notified. */
export type Notification = Immutable<z.infer<typeof notificationSchema>>;

/** The notifications in a lane's state. */
export interface NotificationMemory {
  readonly notified: readonly Notification[];
  /** Instants of the last comments. */
  readonly notifiedAt: readonly number[];
}

/** A need for a person. */
export type Need = Pick<Notification, 'kind' | 'about'>;

/** The subject of a configuration problem that stops every run. */
export const EVERY_RUN = 'every-run';

/** Returns the subject of a lane's needs, which differs from the id of any task. */
export function subjectOfLane(lane: LaneId): string {
  return `lane-${lane}`;
}

/** Adds a comment to the memory; the oldest entries are dropped first. */
export function withNotification<Known extends NotificationMemory>(
  known: Known,
  needs: readonly Need[],
  comment: Pick<Notification, 'thread' | 'comment' | 'at'>,
): Known {
  return {
    ...known,
    notified: [...known.notified, ...needs.map(({ kind, about }) => ({ kind, about, ...comment }))].slice(
      -MAX_NOTIFICATIONS,
    ),
    notifiedAt: [...known.notifiedAt, comment.at].slice(-MAX_NOTIFICATIONS_PER_DAY),
  };
}

/** Adds needs of which people were notified elsewhere, by a comment that is settled there. */
export function withKnownNeeds<Known extends NotificationMemory>(
  known: Known,
  needs: readonly Need[],
  at: number,
): Known {
  if (needs.length === 0) return known;
  return { ...withNotification(known, needs, { thread: null, comment: null, at }), notifiedAt: known.notifiedAt };
}

/** Returns the first line of the comment that notifies of these needs, in any order. */
export function formatNeedsMarker(needs: readonly Need[]): string {
  const names = needs.map(({ kind, about }) => `${kind}:${about.replaceAll(/[^\w.-]+/g, '_')}`).sort();
  return `${MARKER_START}${names.slice(0, MAX_MARKED).join(' ')}${MARKER_END}`;
}

/** Parses the needs from the first line of a notifying comment; empty for any other line. */
export function listNeedsIn(line: string): readonly Need[] {
  if (!line.startsWith(MARKER_START) || !line.endsWith(MARKER_END)) return [];
  return line
    .slice(MARKER_START.length, -MARKER_END.length)
    .split(' ')
    .flatMap((name): readonly Need[] => {
      const kind = notificationKinds.find((known) => name.startsWith(`${known}:`));
      return kind === undefined ? [] : [{ kind, about: name.slice(kind.length + 1) }];
    });
}

/** Returns all needs that a task can have. */
export function needsOfTask(about: TaskId): readonly Need[] {
  const kinds = ['blocked', 'stuck', 'failed', 'nothing_to_do', 'withheld', 'push_refused', 'needs_approval'] as const;
  return kinds.map((kind) => ({ kind, about }));
}

/** Returns all needs that an open pull request can have. The queue may also wait for another lane's pull request. */
export function needsOfPullRequest(lane: LaneId): readonly Need[] {
  const waiting = [...new Set([lane, QUEUE])].map((id): Need => ({
    kind: 'waiting_for_review',
    about: subjectOfLane(id),
  }));
  const own = (['ready', 'auto_merge_off'] as const).map((kind): Need => ({ kind, about: subjectOfLane(lane) }));
  return [...own, ...waiting];
}

const MARKER_START = '<!-- ralph-action:notification ';

const MARKER_END = ' -->';

const MAX_MARKED = 20;

/** Returns true if people are notified, by comments or by the webhook alone. */
export function notifiesAnybody(config: {
  readonly notify: Recipients;
  readonly webhook: { readonly address: string | null };
}): boolean {
  return config.notify.kind !== 'none' || config.webhook.address !== null;
}

/** Returns the people to mention, each once and never a bot: the named ones, or the `askers`, the likeliest first. */
export function selectMentions(recipients: Recipients, askers: readonly (string | null)[]): readonly string[] {
  if (recipients.kind === 'none') return [];
  const wanted = recipients.kind === 'named' ? recipients.logins : askers;
  const found = new Map<string, string>();
  for (const login of wanted)
    if (login !== null && LOGIN_PATTERN.test(login) && !found.has(login.toLowerCase()))
      found.set(login.toLowerCase(), login);
  return [...found.values()].slice(0, MAX_MENTIONS);
}
