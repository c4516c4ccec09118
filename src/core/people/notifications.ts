import { z } from 'zod';
import { type Immutable, instant } from '../policy.ts';
import { type LaneId, QUEUE, type TaskId } from '../tasks/ids.ts';

/** Whom an input names. `auto`: who asked for the work. */
export type Recipients =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'named'; readonly logins: readonly string[]; readonly teams: readonly string[] };

/** More people are not named in one comment. */
const MAX_MENTIONS = 5;

/** A login as GitHub gives them to people; those of managed users have a `_`. */
export const LOGIN = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$/;

/** So many open notifications are kept, about 18 KB of a state's 64; what a task needs beyond that waits until one is settled. */
export const MAX_NOTIFICATIONS = 200;

/** So many comments that notify people a lane writes in 24 hours; what needs them beyond that waits for a later run. */
export const MAX_NOTIFICATIONS_PER_DAY = 10;

/** What people are notified of. */
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

export const notificationSchema = z.object({
  kind: z.enum(notificationKinds),
  /** The task, or the lane, that it is about. */
  about: z.string().max(120),
  /** Issue or pull request that has the comment. */
  thread: z.number().int().positive(),
  /** GitHub's id of the comment; null: it may not be written there, and is not tried again. */
  comment: z.number().int().positive().nullable(),
  at: instant,
});

/** A comment by which people were notified. */
export type Notification = Immutable<z.infer<typeof notificationSchema>>;

/** What a lane's state knows of it; `notifiedAt`: instants of the last comments. */
export interface Remembered {
  readonly notified: readonly Notification[];
  readonly notifiedAt: readonly number[];
}

/** What a person is needed for. */
export type Need = Pick<Notification, 'kind' | 'about'>;

/** What a configuration that stops every run is about. */
export const EVERY_RUN = 'every-run';

/** What is about a lane, and not about the task of the same name. */
export function aboutLane(lane: LaneId): string {
  return `lane-${lane}`;
}

/** What is remembered with one more comment; the oldest go first. */
export function withNotification<Known extends Remembered>(
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

/** First line of the comment that notifies of these needs; the same for the same ones. */
export function markerOf(needs: readonly Need[]): string {
  const names = needs.map(({ kind, about }) => `${kind}:${about.replaceAll(/[^\w.-]+/g, '_')}`).sort();
  return `${MARKER_START}${names.slice(0, MAX_MARKED).join(' ')}${MARKER_END}`;
}

/** What a comment with this first line notifies of; empty for any other line. */
export function needsIn(line: string): readonly Need[] {
  if (!line.startsWith(MARKER_START) || !line.endsWith(MARKER_END)) return [];
  return line
    .slice(MARKER_START.length, -MARKER_END.length)
    .split(' ')
    .flatMap((name): readonly Need[] => {
      const kind = notificationKinds.find((known) => name.startsWith(`${known}:`));
      return kind === undefined ? [] : [{ kind, about: name.slice(kind.length + 1) }];
    });
}

/** Everything that a person can be needed for by a task. */
export function needsOfTask(about: TaskId): readonly Need[] {
  const kinds = ['blocked', 'stuck', 'failed', 'nothing_to_do', 'withheld', 'push_refused', 'needs_approval'] as const;
  return kinds.map((kind) => ({ kind, about }));
}

/** What a person can be needed for by a pull request that is open. The queue may wait for that of any lane. */
export function needsOfPullRequest(lane: LaneId): readonly Need[] {
  const waiting = [...new Set([lane, QUEUE])].map((id): Need => ({ kind: 'waiting_for_review', about: aboutLane(id) }));
  const own = (['ready', 'auto_merge_off'] as const).map((kind): Need => ({ kind, about: aboutLane(lane) }));
  return [...own, ...waiting];
}

const MARKER_START = '<!-- ralph-action:notification ';

const MARKER_END = ' -->';

const MAX_MARKED = 20;

/** The people to turn to, each once and never a bot: those who are named, or `askers`, the likeliest first. */
export function peopleOf(recipients: Recipients, askers: readonly (string | null)[]): readonly string[] {
  if (recipients.kind === 'none') return [];
  const wanted = recipients.kind === 'named' ? recipients.logins : askers;
  const found = new Map<string, string>();
  for (const login of wanted)
    if (login !== null && LOGIN.test(login) && !found.has(login.toLowerCase())) found.set(login.toLowerCase(), login);
  return [...found.values()].slice(0, MAX_MENTIONS);
}
