import { z } from 'zod';
import { isolationFacts } from '../isolation/probe.ts';
import { amountSchema, countSchema, type Immutable } from '../policy.ts';
import { MAX_LABELS_OF_TASK, MAX_TASKS_OF_RUN, type StoredRun } from '../snapshot/stored-run.ts';
import { taskStates } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';

/** Maximum number of receipts in one document. */
const MAX_RECEIPTS = 200;

/** Maximum length of a receipt's journal, unpacked, in characters. */
export const MAX_JOURNAL_TEXT_CHARS = 16 * 1024 * 1024;

const objectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
const word = z.string().max(500);
const instant = z.iso.datetime();
const verification = z.object({ commit: objectId, result: z.enum(['passed', 'failed']) }).nullable();

const runReceiptSchema = z.object({
  version: z.literal(1),
  run: z.object({
    id: z.string().regex(/^[\w.-]{1,40}$/),
    attempt: countSchema,
    url: word,
    requestedBy: word.nullable().describe('The person who asked for the run by name; null for a scheduled one.'),
    startedAt: instant,
    endedAt: instant,
    outcome: z.object({ kind: word, reason: word }),
  }),
  branch: z.object({
    of: word.describe('`queue`, or `issue-N` for the own branch of an issue.'),
    name: word.nullable(),
    into: word.nullable().describe('The branch that it merges into.'),
    base: objectId.describe('The commit that the run began from.'),
    head: objectId.nullable().describe('The newest commit that it published; null if it published none.'),
    pullRequest: z.number().int().positive().nullable(),
  }),
  agent: z.object({
    name: word,
    version: word,
    model: word.nullable().describe('As configured; null: the CLI chose, or the run is of an earlier version.'),
  }),
  isolation: isolationFacts
    .pick({ level: true, network: true, keyHidden: true, probe: true })
    .strip()
    .nullable()
    .describe('As measured; null: not measured.'),
  verifications: z.object({ base: verification, head: verification }).describe('`verify` in a clean clone.'),
  tasks: z
    .array(
      z.object({
        id: word,
        title: word,
        state: z.enum(taskStates),
        labels: z.array(word).max(MAX_LABELS_OF_TASK),
        askedBy: word.nullable().describe('Who added the label; null: not an issue, or not known.'),
        askedAt: instant.nullable(),
        textHash: word
          .nullable()
          .describe('First 32 hex digits of the SHA-256 of `["title","body"]`, as the label was added to it.'),
      }),
    )
    .max(MAX_TASKS_OF_RUN),
  used: z.object({
    iterations: countSchema,
    calls: countSchema,
    tokens: countSchema,
    costUsd: amountSchema.describe('In US dollars.'),
    requests: countSchema.nullable().describe('Requests to GitHub by the job that published; null: not counted.'),
  }),
  journalHash: word.nullable().describe("SHA-256 of the journal's last line; null: not known."),
  journal: z.string().max(MAX_JOURNAL_TEXT_CHARS).nullable().describe('The whole journal; null: not kept.'),
});

/** The output of `ralph receipt --json`, and the file that can be signed. */
const receiptsSchema = z.object({
  receipts: z.array(runReceiptSchema).max(MAX_RECEIPTS).describe('One for each run, oldest first.'),
});

/** The record of one run: who asked for what, its base and head, its agent and isolation, and what it used. */
export type RunReceipt = Immutable<z.infer<typeof runReceiptSchema>>;

/** Returns the published JSON Schema of `ralph receipt --json`. */
export function receiptJsonSchema(): object {
  return { title: 'ralph receipt --json', ...z.toJSONSchema(receiptsSchema) };
}

/** Returns a run's receipt with its journal's text; null if the record cannot be the one of a run. */
export function receiptOf(run: StoredRun, journal: string | null): RunReceipt | null {
  const { runId: id, runAttempt: attempt, runUrl: url, requestedBy, outcome, agent, tasks } = run;
  const { iterations, calls, tokens, costUsd, requests } = run;
  const parsed = runReceiptSchema.safeParse({
    version: 1,
    run: { id, attempt, url, requestedBy, startedAt: iso(run.startedAt), endedAt: iso(run.endedAt), outcome },
    branch: {
      ...{ of: run.lane, name: run.branch, into: run.baseBranch },
      ...{ base: run.base, head: run.head, pullRequest: run.pullRequest },
    },
    agent: { ...agent, model: run.model },
    isolation: run.isolation,
    verifications: { base: run.baseVerification, head: run.headVerification },
    tasks: tasks.map((task) => ({ ...task, askedAt: task.askedAt === null ? null : iso(task.askedAt) })),
    used: { iterations, calls, tokens, costUsd, requests },
    journalHash: run.journalHash,
    journal,
  });
  return parsed.success ? parsed.data : null;
}

/** Serializes receipts, oldest run first, as one document. */
export function serializeReceipts(receipts: readonly RunReceipt[]): string {
  return `${JSON.stringify({ receipts }, null, 2)}\n`;
}

/** Parses a document of receipts; null if it is not one. */
export function parseReceipts(text: string): readonly RunReceipt[] | null {
  const parsed = receiptsSchema.safeParse(tryJson(text));
  return parsed.success ? parsed.data.receipts : null;
}

/** A pull request or a run, as a person names it. `any`: a bare number, which may be either. */
export interface NamedRun {
  readonly kind: 'pull-request' | 'run' | 'any';
  readonly id: string;
}

/** Parses `12`, `#12`, or the URL of a pull request or a run; null for any other text. */
export function parseNamedRun(text: string): NamedRun | null {
  const [, kind = '', id = ''] = /\/(pull|runs)\/([1-9]\d{0,19})(?:[/?#]|$)/.exec(text) ?? [];
  if (id !== '') return { kind: kind === 'pull' ? 'pull-request' : 'run', id };
  const pull = /^#([1-9]\d{0,14})$/.exec(text)?.[1];
  if (pull !== undefined) return { kind: 'pull-request', id: pull };
  return /^[\w-]{1,40}$/.test(text) ? { kind: 'any', id: text } : null;
}

/**
 * Returns the receipts of a pull request, or of a run, oldest first. Those of a pull request include the runs that
 * worked on its branch before it was opened.
 */
export function selectReceipts(all: readonly RunReceipt[], { kind, id }: NamedRun): readonly RunReceipt[] {
  const oldestFirst = all.toSorted((one, other) => Date.parse(one.run.endedAt) - Date.parse(other.run.endedAt));
  const ofPull = oldestFirst.filter(({ branch }) => String(branch.pullRequest) === id);
  if (kind !== 'run' && ofPull.length > 0) return withEarlierRuns(ofPull, oldestFirst);
  return kind === 'pull-request' ? [] : oldestFirst.filter(({ run }) => run.id === id);
}

/**
 * Returns, for each branch that these receipts are about, those of all runs on its pull request, oldest first, since
 * only together they say who made its commits.
 */
export function receiptsByBranch(
  all: readonly RunReceipt[],
  chosen: readonly RunReceipt[],
): readonly (readonly RunReceipt[])[] {
  const branches = new Map(chosen.map((receipt) => [receipt.branch.of, receipt]));
  return [...branches.values()].map(({ branch: { of, pullRequest } }) => {
    const own = chosen.filter((one) => one.branch.of === of);
    return pullRequest === null ? own : selectReceipts(all, { kind: 'pull-request', id: String(pullRequest) });
  });
}

function withEarlierRuns(chosen: readonly RunReceipt[], all: readonly RunReceipt[]): readonly RunReceipt[] {
  const [first] = chosen;
  const before = all.find(
    ({ branch, run }) =>
      first !== undefined &&
      branch.pullRequest === null &&
      branch.of === first.branch.of &&
      branch.head === first.branch.base &&
      branch.head !== branch.base &&
      Date.parse(run.endedAt) < Date.parse(first.run.endedAt),
  );
  return before === undefined ? chosen : withEarlierRuns([before, ...chosen], all);
}

function iso(instantMs: number): string {
  return new Date(instantMs).toISOString();
}
