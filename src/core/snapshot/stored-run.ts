import { z } from 'zod';
import { isolationFacts } from '../isolation/probe.ts';
import { amountSchema, countSchema, type Immutable, instantSchema } from '../policy.ts';
import { taskStates } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';
import { type Snapshot, withFile } from './snapshot.ts';

/** Maximum number of runs that are kept; the oldest are dropped first. */
export const MAX_RUNS = 200;
/** Maximum number of tasks of a run that are named. */
export const MAX_TASKS_OF_RUN = 20;
/** Maximum size of one packed journal, in characters. */
const MAX_JOURNAL_CHARS = 48 * 1024;
/** Maximum size of all packed journals together, in characters: every reading of the snapshot fetches them. */
const MAX_JOURNALS_CHARS = 384 * 1024;

/** Maximum length of an unpacked journal, in characters. */
export const MAX_JOURNAL_TEXT_CHARS = 16 * 1024 * 1024;

/** Maximum number of a task's labels that are named. */
export const MAX_LABELS_OF_TASK = 10;
/** Maximum length of a label in characters, as on GitHub. */
export const MAX_LABEL_CHARS = 50;

const objectId = z.string().max(64);
const verification = z.object({ commit: objectId, result: z.enum(['passed', 'failed']) }).nullable();

const firstTaskSchema = z.object({ id: z.string().max(200), title: z.string().max(200), state: z.enum(taskStates) });

const taskSchema = firstTaskSchema.extend({
  labels: z.array(z.string().max(MAX_LABEL_CHARS)).max(MAX_LABELS_OF_TASK),
  /** Login of the person whose label is consent to the text; null if the task is not an issue. */
  askedBy: z.string().max(100).nullable(),
  /** The instant at which they asked for the work: added the label, or reopened the issue. */
  askedAt: instantSchema.nullable(),
  /** Hash of the text that they consented to: the first 32 hex digits of the SHA-256 of title and body. */
  textHash: z.string().max(64).nullable(),
});

const firstSchema = z.object({
  version: z.literal(1),
  lane: z.string().max(120),
  runId: z.string().max(40),
  runAttempt: countSchema,
  runUrl: z.string().max(500),
  /** Login of the person who asked for the run; null for a scheduled run. */
  requestedBy: z.string().max(100).nullable(),
  startedAt: instantSchema,
  endedAt: instantSchema,
  outcome: z.object({ kind: z.string().max(40), reason: z.string().max(60) }),
  agent: z.object({ name: z.string().max(60), version: z.string().max(60) }),
  /** The commit that the run began from. */
  base: objectId,
  /** The published head; null if none was published. */
  head: objectId.nullable(),
  pullRequest: z.number().int().positive().nullable(),
  /** The result of `verify` for the base in a clean clone; null if it did not run. */
  baseVerification: verification,
  /** The result of `verify` for the branch in a clean clone; null if it did not run. */
  headVerification: verification,
  /** The tasks that the run worked on, as it left them. */
  tasks: z.array(firstTaskSchema).max(MAX_TASKS_OF_RUN),
  iterations: countSchema,
  calls: countSchema,
  tokens: countSchema,
  costUsd: amountSchema,
  /** The journal as base64 of gzip; null if it is too large, older than the newest ones, or lost. */
  journal: z.string().max(MAX_JOURNAL_CHARS).nullable(),
});

/** The schema of the record of a run, in the newest version. */
export const newestRunSchema = firstSchema.extend({
  version: z.literal(2),
  tasks: z.array(taskSchema).max(MAX_TASKS_OF_RUN),
  /** The branch that the run worked on; null in runs of version 1. */
  branch: z.string().max(255).nullable(),
  /** The branch that it merges into; null in runs of version 1. */
  baseBranch: z.string().max(255).nullable(),
  /** The configured model of the agent; null if its CLI chose, and in runs of version 1. */
  model: z.string().max(100).nullable(),
  /** The measured isolation; null if nothing was measured, and in runs of version 1. */
  isolation: isolationFacts
    .unwrap()
    .pick({ level: true, network: true, keyHidden: true, probe: true })
    .strip()
    .nullable(),
  /** Number of iterations of unknown cost, which `costUsd` lacks; null in runs of version 1. */
  unpriced: countSchema.nullable().default(null),
  /** Number of requests to GitHub's API that the publishing job had sent by then; null if not counted. */
  requests: countSchema.nullable(),
  /** SHA-256 of the journal's last line, even if the journal itself is not kept; null without a journal. */
  journalHash: z.string().max(64).nullable(),
});

const storedRunSchema = z.union([
  newestRunSchema,
  firstSchema.transform((run): z.infer<typeof newestRunSchema> => ({
    ...run,
    version: 2,
    tasks: run.tasks.map((task) => ({ ...task, labels: [], askedBy: null, askedAt: null, textHash: null })),
    ...{
      branch: null,
      baseBranch: null,
      model: null,
      isolation: null,
      unpriced: null,
      requests: null,
      journalHash: null,
    },
  })),
]);

/**
 * The repository's memory of a run that worked on a lane: its end, its usage and its journal. Instants in ms, money in
 * US dollars, rounded to a millionth.
 */
export type StoredRun = Immutable<z.infer<typeof storedRunSchema>>;

/**
 * Returns the snapshot with the run, which replaces the record of an earlier attempt to publish it. The bounds of all
 * runs apply.
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
export function listStoredRuns(snapshot: Snapshot): readonly StoredRun[] {
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
