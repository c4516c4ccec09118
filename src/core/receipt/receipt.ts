import { z } from 'zod';
import type { Immutable } from '../policy.ts';
import { MAX_JOURNAL_TEXT_CHARS, newestRunSchema, type StoredRun } from '../snapshot/stored-run.ts';
import { renameKey, tryJson } from '../text/try-json.ts';

/** Maximum number of receipts in one document. */
const MAX_RECEIPTS = 200;

const objectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);

const runReceiptSchema = newestRunSchema
  .omit({ lane: true })
  .extend({
    branchId: newestRunSchema.shape.lane.describe('`queue` or `issue-N`.'),
    base: objectId.describe('The commit that the run began from.'),
    head: objectId.nullable().describe('The newest commit that it published; null if it published none.'),
    unpriced: newestRunSchema.shape.unpriced.describe(
      'Number of iterations of unknown cost, which `costUsd` lacks; null if not counted.',
    ),
    requests: newestRunSchema.shape.requests.describe(
      "Number of requests to GitHub's API that the job which publishes had sent when it saved the state; with three jobs, without those of the gate's. null if not counted.",
    ),
    journal: z.string().max(MAX_JOURNAL_TEXT_CHARS).nullable().describe('The whole journal; null: it is not kept.'),
  });

/** The output of `ralph receipt --json`, and the file that can be signed. */
export const receiptsSchema = z.object({
  receipts: z
    .array(runReceiptSchema)
    .max(MAX_RECEIPTS)
    .describe('One for each run, oldest first. Times are ms since the epoch, money is in US dollars.'),
});

/**
 * The record of one run with its journal: the requests and the people who made them, its base and head, its agent, and
 * its usage.
 */
export type RunReceipt = Immutable<z.infer<typeof runReceiptSchema>>;

/** Returns a run's receipt with its journal's text; null if the record is not the valid record of a run. */
export function parseReceiptRecord(run: StoredRun, journal: string | null): RunReceipt | null {
  return runReceiptSchema.safeParse({ ...run, branchId: run.lane, journal }).data ?? null;
}

/** Serializes receipts, oldest run first, as one document. */
export function serializeReceipts(receipts: readonly RunReceipt[]): string {
  return `${JSON.stringify({ receipts }, null, 2)}\n`;
}

/** Parses a document of receipts; null if it is not one. */
export function parseReceipts(text: string): readonly RunReceipt[] | null {
  const document = z.object({ receipts: z.array(z.unknown()) }).safeParse(tryJson(text)).data;
  const receipts = document?.receipts.map((one) => renameKey(one, 'lane', 'branchId'));
  return receiptsSchema.safeParse({ receipts }).data?.receipts ?? null;
}

/** A pull request or a run, as named by a person. `any`: a bare number, which may be either. */
export interface NamedRun {
  readonly kind: 'pull-request' | 'run' | 'any';
  readonly id: string;
  /** OWNER/REPO of a URL. */
  readonly repository?: string;
}

/** Parses `12`, `#12`, or the URL of a pull request or a run; null for any other text. */
export function parseNamedRun(text: string): NamedRun | null {
  const [, repository = '', kind = '', id = ''] =
    /([^/\s]+\/[^/\s]+)\/(?:actions\/)?(pull|runs)\/([1-9]\d{0,19})(?:[/?#]|$)/.exec(text) ?? [];
  if (id !== '') return { kind: kind === 'pull' ? 'pull-request' : 'run', id, repository };
  const pull = /^#([1-9]\d{0,14})$/.exec(text)?.[1];
  if (pull !== undefined) return { kind: 'pull-request', id: pull };
  return /^[\w-]{1,40}$/.test(text) ? { kind: 'any', id: text } : null;
}

/**
 * Returns the receipts of a pull request, or of a run, oldest first. Those of a pull request include the runs that
 * worked on its branch before it was opened.
 */
export function selectReceipts(all: readonly RunReceipt[], { kind, id }: NamedRun): readonly RunReceipt[] {
  const oldestFirst = all.toSorted((one, other) => one.endedAt - other.endedAt);
  const ofPull = oldestFirst.filter(({ pullRequest }) => String(pullRequest) === id);
  if (kind !== 'run' && ofPull.length > 0) return withEarlierRuns(ofPull, oldestFirst);
  return kind === 'pull-request' ? [] : oldestFirst.filter(({ runId }) => runId === id);
}

/**
 * Returns the receipts of each branch, oldest first, with those of all runs on the branch's pull request: only together
 * they say who made its commits.
 */
export function groupReceipts(
  all: readonly RunReceipt[],
  chosen: readonly RunReceipt[],
): readonly (readonly RunReceipt[])[] {
  const branches = new Map(chosen.map((receipt) => [receipt.branchId, receipt.pullRequest]));
  return [...branches].map(([branchId, pullRequest]) =>
    pullRequest === null
      ? chosen.filter((one) => one.branchId === branchId)
      : selectReceipts(all, { kind: 'pull-request', id: String(pullRequest) }),
  );
}

function withEarlierRuns(chosen: readonly RunReceipt[], all: readonly RunReceipt[]): readonly RunReceipt[] {
  const [first] = chosen;
  const before = all.find(
    ({ pullRequest, branchId, base, head, endedAt }) =>
      first !== undefined &&
      pullRequest === null &&
      branchId === first.branchId &&
      head === first.base &&
      head !== base &&
      endedAt < first.endedAt,
  );
  return before === undefined ? chosen : withEarlierRuns([before, ...chosen], all);
}
