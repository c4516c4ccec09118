import { z } from 'zod';
import { lockFilesSchema } from './feedback/conflict/lock-tools.ts';
import { count, type Immutable } from './policy.ts';
import { callUsageSchema } from './lane/ledger.ts';
import { stepRecordSchema } from './pipeline/step-record.ts';

/** New failures of a verification that are named. */
export const MAX_NEWLY_RED = 5;

/** A git object id of a tree or commit. */
export type ObjectId = string;

const snapshotSchema = z.object({ head: z.string(), tree: z.string() });

/** Content of a work tree at one instant: `tree` covers untracked files and leaves out `.ralph/` state, the agent's notes, the task files and what git ignores. */
export type Snapshot = Immutable<z.infer<typeof snapshotSchema>>;

const agentEndSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('exited'), code: z.number().int() }),
  z.object({ kind: z.literal('timeout'), of: z.enum(['call', 'run']) }),
  z.object({ kind: z.literal('stalled') }),
  z.object({ kind: z.literal('signalled'), signal: z.string() }),
  z.object({ kind: z.literal('cancelled') }),
  z.object({ kind: z.literal('withdrawn') }),
]);

/** How the agent's process ended. `timeout` says whose clock ran out; `stalled`: it was ended because it only retried, and the analysis says what. `withdrawn`: it was ended because people took back what it worked on. */
export type AgentEnd = Immutable<z.infer<typeof agentEndSchema>>;

export const verificationSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('not-run') }),
  z.object({ kind: z.literal('passed'), durationMs: z.number() }),
  z.object({
    kind: z.literal('failed'),
    command: z.string(),
    code: z.number().nullable(),
    tail: z.string(),
    durationMs: z.number(),
    /** True if it fails in the way in which the untouched base fails. Absent: the base is not red, or nobody compared. */
    asOnBase: z.boolean().optional(),
    /** Failures that the red base does not have. */
    newlyRed: z.array(z.string().max(300)).max(MAX_NEWLY_RED).optional(),
  }),
]);

/** Result of the user's verify commands after an iteration; `tail` is the end of their output. */
export type Verification = Immutable<z.infer<typeof verificationSchema>>;
export const verificationKinds = verificationSchema.options.map(({ shape }) => shape.kind.value);

const checklistSchema = z.object({
  /** What its file says of the iteration's task; `gone`: the item is not there any more; null: it was not there when the iteration began. */
  current: z.enum(['open', 'done', 'gone']).nullable(),
  /** Whether its file marked the iteration's task as done before the iteration began. Journals of before this was asked have none. */
  wasMarked: z.boolean().default(false),
  /** Ids of tasks of the lane that were not done so far and are, as the files say. */
  done: z.array(z.string()),
  /** Items that the iteration marked as done; its own task counts as well when an earlier one had marked it. */
  finished: count,
  /** Open items that are not there any more. */
  removed: count,
  added: count,
});

/** What an iteration did to the task files. */
export type Checklist = Immutable<z.infer<typeof checklistSchema>>;

export const evidenceSchema = z.object({
  before: snapshotSchema,
  after: snapshotSchema,
  /** Paths whose content differs between the two trees, sorted, at most 200; `fileCount` counts all. */
  files: z.array(z.string()).max(200),
  fileCount: count,
  /** Paths that the work tree has and the branch must not get, at most 20: work that needs them is not published. */
  withheld: z.array(z.string()).max(20),
  /** What of it this iteration changed; `part`: the task is about it. Absent: nothing, or a journal of before it was measured, in which all that is withheld counts. */
  withheldHere: z
    .array(z.object({ path: z.string().max(1000), why: z.string().max(500), part: z.boolean() }))
    .max(20)
    .optional(),
  /** Names of work that this iteration left beside the work tree (branches, stashes, other work trees), at most 20; absent: none. */
  beside: z.array(z.string().max(200)).max(20).optional(),
  /** Commits that the agent made itself. */
  agentCommits: count,
  insertions: count,
  deletions: count,
  end: agentEndSchema,
  /** Characters of the agent's final message. */
  outputChars: count,
  /** Whether that message ends in a status block that does not count because it stands in a code fence. */
  fencedBlock: z.boolean(),
  verification: verificationSchema,
  /** What became of the task files; null: the lane has none. Journals of before tasks could stand in files have none. */
  checklist: checklistSchema.nullable().default(null),
  /** A file by which the agent says that everything is done, made in this run; null: there is none. */
  doneMarker: z.string().max(200).nullable().default(null),
  /** Whether a merge of the base branch is still to be finished (`open`), or was committed (`made`). Journals of before there were any have none. */
  merge: z.enum(['none', 'open', 'made']).default('none'),
  /** Lock files of a merge that were to be made again; absent: none. */
  lockFiles: lockFilesSchema.optional(),
  /** MCP servers of which the agent had no tools, with how they stood; absent: none. */
  failedServers: z.array(z.string()).max(20).exactOptional(),
  /** The agent call of an iteration without a pipeline, as it was booked. Journals of earlier versions have none. */
  call: callUsageSchema.exactOptional(),
  /** What became of the pipeline's steps; empty: there is no pipeline. Journals of before there were any have none. */
  steps: z.array(stepRecordSchema).max(50).default([]),
});

/** What an iteration really changed, measured; never a claim. `before` and `after` are what is published: without files that are withheld. */
export type Evidence = Immutable<z.infer<typeof evidenceSchema>>;
