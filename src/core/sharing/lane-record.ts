import { z } from 'zod';
import { keepsOut, type Lease, type LeaseHolder, leaseSchema, withStoredTag } from './lease.ts';
import { orderSchema, subjectOf, type Order, type OrderGiven } from './orders.ts';
import type { LaneId } from '../tasks/ids.ts';
import { count, type Immutable } from '../policy.ts';
import { tryJson } from '../text/try-json.ts';
import { cut } from '../text/phrase.ts';
import { lookSchema } from './waiting-issues.ts';

/** More are not kept. A paused lane saves nothing, so orders pile up that no document has obeyed yet. */
export const MAX_ORDERS = 30;
/** A document is at most 64 KiB, with a line for each of its values; lease and orders need a few KiB. */
const MAX_RECORD_CHARS = 400 * 1024;
/** 2: orders `stop` and `retry`, and such that an event gives. 3: a file of the snapshot, in which the state stands as it is and not as a text. */
const RECORD_VERSION = 3;

const head = z.object({ version: z.int().min(1) });
const schema = z.object({
  version: z
    .union([z.literal(1), z.literal(2), z.literal(RECORD_VERSION)])
    .transform((): typeof RECORD_VERSION => RECORD_VERSION),
  lane: z.string().max(120),
  /** Of `document`; 0 while there is none. */
  sequence: z.int().min(0),
  /** The serialized LaneState. */
  document: z.string().nullable(),
  /** Tag of the run that wrote `document`. */
  savedBy: z.string().max(100).nullable(),
  lease: leaseSchema.nullable(),
  /** Newest last, always with the newest of all; the document says which of them it has obeyed. */
  orders: z.array(orderSchema).max(MAX_ORDERS),
  /** Why a later run looks at the lane, whatever its state says: somebody asked something that no run has read (`unanswered`); or a run that read it has not ended, or left something to publish (`unfinished`). */
  goesOn: z.enum(['unfinished', 'unanswered']).nullable().default(null),
  /** Number of the document for which a run that looked found nothing to do; null: none did. */
  restsAt: count.nullable().default(null),
  /** How its pull request stood when a run last looked after it; null: nobody did. */
  looked: lookSchema.nullable().default(null),
});

/**
 * What the snapshot keeps of a lane: the newest document, which run may write it, and what people ordered.
 * The document belongs to the run that holds the lease; everybody else may only leave an order.
 */
export type LaneRecord = Immutable<z.infer<typeof schema>>;

export type ParsedRecord =
  | { readonly kind: 'record'; readonly record: LaneRecord }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'newer'; readonly version: number };

/** The record of a lane that nobody ever saved or claimed. */
export function emptyRecord(lane: LaneId): LaneRecord {
  const record = { version: RECORD_VERSION, lane, sequence: 0, document: null, savedBy: null, lease: null } as const;
  return { ...record, orders: [], goesOn: null, restsAt: null, looked: null };
}

/** Reads a stored record. Any string is answered. */
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

/** The file to store: the state stands in it as it is, so that people can read what changed from one version to the next. */
export function serializeRecord({ document, ...record }: LaneRecord): string {
  const lease = record.lease && withStoredTag(record.lease);
  const state: unknown = document === null ? null : (tryJson(document) ?? document);
  return `${JSON.stringify({ ...record, lease, state }, null, 1)}\n`;
}

/** A stored record with its state as a text. What is not an object is left for the schema to refuse. */
function withDocument(json: unknown): unknown {
  const { state = null, ...record } = json as { readonly state?: unknown };
  return { ...record, document: state === null || typeof state === 'string' ? state : JSON.stringify(state) };
}

/** The record with this run as the lane's only one, or whose lease is in the way. */
export function claimRecord(
  record: LaneRecord,
  lease: Lease,
  now: number,
): { readonly kind: 'record'; readonly record: LaneRecord } | { readonly kind: 'leased'; readonly lease: Lease } {
  if (record.lease !== null && keepsOut(record.lease, lease, now)) return { kind: 'leased', lease: record.lease };
  return { kind: 'record', record: { ...record, lease } };
}

/**
 * The record with a new document and without the lease of who saved it. `already`: this run saved it before; what post
 * knows better than main replaces it, unless another run builds on it by now.
 * `outrun`: another run holds the lane, or has saved since this one began.
 */
export function saveRecord(
  record: LaneRecord,
  copy: { readonly sequence: number; readonly document: string },
  saver: LeaseHolder,
  now: number,
):
  | { readonly kind: 'record'; readonly record: LaneRecord }
  | { readonly kind: 'already' }
  | { readonly kind: 'outrun' } {
  const isOwner = record.lease?.runTag === saver.runTag;
  const isClaimed = record.lease !== null && keepsOut(record.lease, saver, now);
  const isSaved = record.savedBy === saver.runTag && record.sequence >= copy.sequence;
  const isNewest = record.sequence > copy.sequence || record.document === copy.document;
  if (!isOwner && isSaved && (isClaimed || isNewest)) return { kind: 'already' };
  if (!isOwner && !isSaved && (isClaimed || record.sequence >= copy.sequence)) return { kind: 'outrun' };
  return {
    kind: 'record',
    record: { ...record, sequence: copy.sequence, document: copy.document, savedBy: saver.runTag, lease: null },
  };
}

/** The record with the document of a run that continues, which keeps its lease; null when it is not this run's. */
export function advanceRecord(
  record: LaneRecord,
  copy: { readonly sequence: number; readonly document: string },
  runTag: string,
): LaneRecord | null {
  return record.lease?.runTag === runTag ? { ...record, ...copy, savedBy: runTag } : null;
}

/** The record with the lease that a run which holds the lane takes anew; null when it is not this run's. */
export function renewRecord(record: LaneRecord, lease: Lease): LaneRecord | null {
  return record.lease?.runTag === lease.runTag ? { ...record, lease } : null;
}

/** The record without the lease of the run with this tag; null when it holds none. */
export function releaseRecord(record: LaneRecord, runTag: string): LaneRecord | null {
  return record.lease?.runTag === runTag ? { ...record, lease: null } : null;
}

/** The record with one more order; as it is when the same run, in whatever attempt, brought it already. */
export function orderRecord(record: LaneRecord, given: OrderGiven): LaneRecord {
  const by = cut(given.by, 100);
  const newest = record.orders.at(-1);
  const isRepeated =
    newest !== undefined &&
    subjectOf(newest) === subjectOf(given) &&
    newest.kind === given.kind &&
    newest.by === by &&
    newest.from === given.from &&
    newest.at === given.at;
  if (isRepeated || (given.run !== null && record.orders.some(({ run }) => run === given.run))) return record;
  const order: Order = { ...given, by, number: Math.max(given.at, (newest?.number ?? 0) + 1) };
  return { ...record, orders: fitting([...record.orders, order]) };
}

/** The orders without the oldest of those that a newer one about the same thing supersedes, when they are too many. */
function fitting(orders: readonly Order[]): readonly Order[] {
  if (orders.length <= MAX_ORDERS) return orders;
  const superseded = orders.findIndex((order, index) =>
    orders.slice(index + 1).some((newer) => subjectOf(newer) === subjectOf(order)),
  );
  // So many different ones are retries; a pause is never lost for one of them.
  return orders.toSpliced(superseded === -1 ? orders.findIndex(({ kind }) => kind === 'retry') : superseded, 1);
}
