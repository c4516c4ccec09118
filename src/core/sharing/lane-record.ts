import { z } from 'zod';
import { blocksOtherHolder, type Lease, type LeaseHolder, leaseSchema, withStoredTag } from './lease.ts';
import { orderSchema, findOrderSubject, type Order, type OrderGiven } from './orders.ts';
import type { LaneId } from '../tasks/ids.ts';
import { countSchema, type Immutable } from '../policy.ts';
import { tryJson } from '../text/try-json.ts';
import { cutText } from '../text/phrase.ts';
import { examinationSchema } from './waiting-issues.ts';

/** Maximum number of orders. They accumulate on a paused lane, where no run obeys them. */
export const MAX_ORDERS = 30;
/**
 * Maximum length in characters: a document is at most 64 KiB, with a line for each of its values; lease and orders need
 * a few KiB.
 */
const MAX_RECORD_CHARS = 400 * 1024;
/**
 * Version 2: orders `stop` and `retry`, and orders by events. Version 3: a file of the snapshot, which contains the
 * state as JSON and not as a text.
 */
const RECORD_VERSION = 3;

const head = z.object({ version: z.int().min(1) });
const schema = z.object({
  version: z
    .union([z.literal(1), z.literal(2), z.literal(RECORD_VERSION)])
    .transform((): typeof RECORD_VERSION => RECORD_VERSION),
  lane: z.string().max(120),
  /** Sequence of `document`; 0 if none. */
  sequence: z.int().min(0),
  /** The serialized LaneState. */
  document: z.string().nullable(),
  /** Tag of the run that wrote `document`. */
  savedBy: z.string().max(100).nullable(),
  lease: leaseSchema.nullable(),
  /**
   * People's orders, newest last; the newest order is always kept. The document records which orders the lane has
   * obeyed.
   */
  orders: z.array(orderSchema).max(MAX_ORDERS),
  /**
   * The reason for a later run to examine the lane, regardless of its state: a request that no run has read
   * (`unanswered`), or a run that read it but has not ended or left something to publish (`unfinished`).
   */
  goesOn: z.enum(['unfinished', 'unanswered']).nullable().default(null),
  /** Sequence of the document for which a run found nothing to do; null if none. */
  restsAt: countSchema.nullable().default(null),
  /** The pull request as a run last examined it; null if no run examined it. */
  looked: examinationSchema.nullable().default(null),
});

/**
 * The snapshot's record of a lane: the newest document, the run that may write it, and people's orders. The document
 * belongs to the run that holds the lease; everybody else may only leave an order.
 */
export type LaneRecord = Immutable<z.infer<typeof schema>>;

export type ParsedRecord =
  | { readonly kind: 'record'; readonly record: LaneRecord }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'newer'; readonly version: number };

/** Returns the record of a lane that nobody ever saved or claimed. */
export function createLaneRecord(lane: LaneId): LaneRecord {
  const record = { version: RECORD_VERSION, lane, sequence: 0, document: null, savedBy: null, lease: null } as const;
  return { ...record, orders: [], goesOn: null, restsAt: null, looked: null };
}

/** Parses a stored record. Never throws. */
export function parseRecord(text: string, lane: LaneId): ParsedRecord {
  if (text.length > MAX_RECORD_CHARS)
    return { kind: 'unreadable', why: `it is longer than ${MAX_RECORD_CHARS} characters` };
  const json = tryJson(text);
  const version = head.safeParse(json);
  if (!version.success) return { kind: 'unreadable', why: 'it is not a JSON object with a version' };
  if (version.data.version > RECORD_VERSION) return { kind: 'newer', version: version.data.version };
  const parsed = schema.safeParse(version.data.version < RECORD_VERSION ? json : withDocument(json));
  if (!parsed.success)
    return { kind: 'unreadable', why: `${parsed.error.issues[0]?.path.join('.') || 'it'} does not match the schema` };
  if (parsed.data.lane !== lane) return { kind: 'unreadable', why: 'it belongs to another branch' };
  return { kind: 'record', record: parsed.data };
}

/**
 * Returns the file to store, which contains the state as JSON, so that people can read what changed between versions.
 */
export function serializeRecord({ document, ...record }: LaneRecord): string {
  const lease = record.lease && withStoredTag(record.lease);
  const state: unknown = document === null ? null : (tryJson(document) ?? document);
  return `${JSON.stringify({ ...record, lease, state }, null, 1)}\n`;
}

/** Returns a stored record with its state as a text. Anything but an object is left to the schema, which rejects it. */
function withDocument(json: unknown): unknown {
  const { state = null, ...record } = json as { readonly state?: unknown };
  return { ...record, document: state === null || typeof state === 'string' ? state : JSON.stringify(state) };
}

/** Returns the record with the lane claimed by this run, or the lease that prevents the claim. */
export function claimRecord(
  record: LaneRecord,
  lease: Lease,
  now: number,
): { readonly kind: 'record'; readonly record: LaneRecord } | { readonly kind: 'leased'; readonly lease: Lease } {
  if (record.lease !== null && blocksOtherHolder(record.lease, lease, now))
    return { kind: 'leased', lease: record.lease };
  return { kind: 'record', record: { ...record, lease } };
}

/**
 * Returns the record with a new document and without the saver's lease. `already`: this run saved it before; post may
 * replace main's copy unless another run builds on it. `outrun`: another run holds the lane, or has saved since this
 * one began.
 */
export function finishRecord(
  record: LaneRecord,
  copy: { readonly sequence: number; readonly document: string },
  saver: LeaseHolder,
  now: number,
):
  | { readonly kind: 'record'; readonly record: LaneRecord }
  | { readonly kind: 'already' }
  | { readonly kind: 'outrun' } {
  const isOwner = record.lease?.runTag === saver.runTag;
  // A job's clock stops while its machine sleeps, so a lease that seems to begin later is taken to begin now.
  const isClaimed =
    record.lease !== null && blocksOtherHolder(record.lease, saver, Math.max(now, record.lease.acquiredAt));
  const isSaved = record.savedBy === saver.runTag && record.sequence >= copy.sequence;
  const isNewest = record.sequence > copy.sequence || record.document === copy.document;
  if (!isOwner && isSaved && (isClaimed || isNewest)) return { kind: 'already' };
  if (!isOwner && !isSaved && (isClaimed || record.sequence >= copy.sequence)) return { kind: 'outrun' };
  return {
    kind: 'record',
    record: { ...record, sequence: copy.sequence, document: copy.document, savedBy: saver.runTag, lease: null },
  };
}

/**
 * Returns the record with the document of a continuing run, which keeps its lease; null if the run does not hold the
 * lease.
 */
export function advanceRecord(
  record: LaneRecord,
  copy: { readonly sequence: number; readonly document: string },
  runTag: string,
): LaneRecord | null {
  return record.lease?.runTag === runTag ? { ...record, ...copy, savedBy: runTag } : null;
}

/** Returns the record with the renewed lease of a run that holds the lane; null if the run does not hold the lease. */
export function renewRecord(record: LaneRecord, lease: Lease): LaneRecord | null {
  return record.lease?.runTag === lease.runTag ? { ...record, lease } : null;
}

/** Returns the record without the lease of the run with this tag; null if that run does not hold the lease. */
export function releaseRecord(record: LaneRecord, runTag: string): LaneRecord | null {
  return record.lease?.runTag === runTag ? { ...record, lease: null } : null;
}

/** Returns the record with one more order; unchanged if any attempt of the same run already gave it. */
export function addOrderToRecord(record: LaneRecord, given: OrderGiven): LaneRecord {
  const by = cutText(given.by, 100);
  const newest = record.orders.at(-1);
  const isRepeated =
    newest !== undefined &&
    findOrderSubject(newest) === findOrderSubject(given) &&
    newest.kind === given.kind &&
    newest.by === by &&
    newest.from === given.from &&
    newest.at === given.at;
  // A run gives several orders for the boxes of the dashboard, each on a subject of its own, so subjects are compared
  // as well.
  const isGiven =
    given.run !== null &&
    record.orders.some((one) => one.run === given.run && findOrderSubject(one) === findOrderSubject(given));
  if (isRepeated || isGiven) return record;
  const order: Order = { ...given, by, number: Math.max(given.at, (newest?.number ?? 0) + 1) };
  return { ...record, orders: limitOrders([...record.orders, order]) };
}

/**
 * Returns the orders; if there are too many, without the oldest one that a newer order on the same subject supersedes.
 */
function limitOrders(orders: readonly Order[]): readonly Order[] {
  if (orders.length <= MAX_ORDERS) return orders;
  const superseded = orders.findIndex((order, index) =>
    orders.slice(index + 1).some((newer) => findOrderSubject(newer) === findOrderSubject(order)),
  );
  // If all subjects differ, some are tasks, and the oldest order about a task is dropped, so that a pause is never
  // lost.
  return orders.toSpliced(superseded === -1 ? orders.findIndex(({ task }) => task !== null) : superseded, 1);
}
