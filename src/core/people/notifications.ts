import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import { instant } from '../numbers.ts';

/** More open notifications are not kept; the oldest go first. */
export const MAX_NOTIFICATIONS = 50;

/** What people are notified of. */
export const notificationKinds = [
  'blocked',
  'stuck',
  'failed',
  'nothing_to_do',
  'needs_approval',
  'circuit_open',
  'configuration',
  'ready',
  'waiting_for_review',
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

export const notificationSchema = z.object({
  kind: z.enum(notificationKinds),
  /** The task, or the lane, that it is about. */
  about: z.string().max(120),
  /** Issue or pull request that has the comment. */
  thread: z.number().int().positive(),
  /** GitHub's id of the comment. */
  comment: z.number().int().positive(),
  at: instant,
});

/** A comment by which people were notified. */
export type Notification = Immutable<z.infer<typeof notificationSchema>>;
