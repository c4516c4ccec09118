import { z } from 'zod';
import { amountSchema, countSchema, type Immutable, instantSchema } from '../policy.ts';
import { taskStates } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';
import { type Snapshot, withFile } from './snapshot.ts';

/** Maximum number of runs that are kept; the oldest are dropped first. */
export const MAX_RUNS = 200;
/** Maximum number of tasks of a run that are named. */
export const MAX_TASKS_OF_RUN = 20;
/**
 * Maximum size of one packed journal, and of all together, in characters: every reading of the snapshot fetches them.
 */
const MAX_JOURNAL_CHARS = 48 * 1024;
const MAX_JOURNALS_CHARS = 384 * 1024;

const objectId = z.string().max(64);
const verification = z.object({ commit: objectId, result: z.enum(['passed', 'failed']) }).nullable();

const storedRunSchema = z.object({
  version: z.literal(1),
  lane: z.string().max(120),
  runId: z.string().max(40),
  runAttempt: countSchema,
  runUrl: z.string().max(500),
  /** The person who asked for the run by name; null for a scheduled one. */
  requestedBy: z.string().max(100).nullable(),
  startedAt: instantSchema,
  endedAt: instantSchema,
  outcome: z.object({ kind: z.string().max(40), reason: z.string().max(60) }),
  agent: z.object({ name: z.string().max(60), version: z.string().max(60) }),
  /** The commit that the run began from, and the published head; null without one. */
  base: objectId,
  head: objectId.nullable(),
  pullRequest: z.number().int().positive().nullable(),
  /** Results of `verify` in a clean clone, of the base and of the branch; null where it did not run. */
  baseVerification: verification,
  headVerification: verification,
  /** The tasks that the run worked on, as it left them. */
  tasks: z
    .array(z.object({ id: z.string().max(200), title: z.string().max(200), state: z.enum(taskStates) }))
    .max(MAX_TASKS_OF_RUN),
  iterations: countSchema,
  calls: countSchema,
  tokens: countSchema,
  costUsd: amountSchema,
  /** The journal as base64 of gzip; null if it is too large, older than the newest ones, or lost. */
  journal: z.string().max(MAX_JOURNAL_CHARS).nullable(),
});

/**
 * The repository's memory of a run that worked on a lane: its end, its usage and its journal. Instants in ms, money in
 * US dollars.
 */
export type StoredRun = Immutable<z.infer<typeof storedRunSchema>>;

/**
 * Returns the snapshot with the run, in place of what an earlier attempt to publish it stored, within the bounds of all
 * runs.
 */
export function withRun(snapshot: Snapshot, run: StoredRun): Snapshot {
  const path = fileOf(run);
  if (path === null) return snapshot;
  const fits = run.journal === null || run.journal.length <= MAX_JOURNAL_CHARS;
  const others = runFilesOf(snapshot).filter((one) => one.path !== path);
  const all = [{ path, run: fits ? run : { ...run, journal: null } }, ...others].toSorted(newestFirst);
  let chars = 0;
  const kept = all.slice(0, MAX_RUNS).map((one) => {
    chars += one.run.journal?.length ?? 0;
    return chars <= MAX_JOURNALS_CHARS ? one : { ...one, run: { ...one.run, journal: null } };
  });
  const dropped = all.slice(MAX_RUNS).reduce((next, one) => withFile(next, one.path, null), snapshot);
  return kept.reduce((next, one) => withFile(next, one.path, `${JSON.stringify(one.run)}\n`), dropped);
}

/** Returns the remembered runs, newest first. Unreadable files are left out. */
export function runsIn(snapshot: Snapshot): readonly StoredRun[] {
  return runFilesOf(snapshot)
    .toSorted(newestFirst)
    .map(({ run }) => run);
}

interface RunFile {
  readonly path: string;
  readonly run: StoredRun;
}

function runFilesOf(snapshot: Snapshot): readonly RunFile[] {
  return [...snapshot].flatMap(([path, text]) => {
    const parsed = path.startsWith('runs/') ? storedRunSchema.safeParse(tryJson(text)) : null;
    return parsed?.success === true && fileOf(parsed.data) === path ? [{ path, run: parsed.data }] : [];
  });
}

function newestFirst(one: RunFile, other: RunFile): number {
  return other.run.endedAt - one.run.endedAt || (one.path < other.path ? -1 : 1);
}

/** Returns the file of a run, or null if its id cannot be a file name. */
function fileOf({ runId, runAttempt, lane }: StoredRun): string | null {
  const name = `${runId}.${String(runAttempt)}.${lane}`;
  return /^[\w.-]{1,80}$/.test(name) ? `runs/${name}.json` : null;
}
