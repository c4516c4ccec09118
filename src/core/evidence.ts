import { z } from 'zod';
import { lockFilesSchema } from './feedback/conflict/lock-tools.ts';
import { countSchema, type Immutable } from './policy.ts';
import { callUsageSchema } from './lane/ledger.ts';
import { stepRecordSchema } from './pipeline/step-record.ts';

/** Maximum number of new failures of a verification that are listed. */
export const MAX_NEWLY_RED = 5;

/** A git object id of a tree or commit. */
export type ObjectId = string;

const snapshotSchema = z.object({ head: z.string(), tree: z.string() });

/**
 * The content of a work tree at one instant. `tree` covers untracked files and excludes `.ralph/` state, the agent's
 * notes, the task files and files that git ignores.
 */
export type TreeSnapshot = Immutable<z.infer<typeof snapshotSchema>>;

const agentEndSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('exited'), code: z.number().int() }),
    z.object({ kind: z.literal('timeout'), of: z.enum(['call', 'run']) }),
    z.object({ kind: z.literal('stalled') }),
    z.object({ kind: z.literal('signalled'), signal: z.string() }),
    z.object({ kind: z.literal('cancelled') }),
    z.object({ kind: z.literal('withdrawn') }),
  ]),
);

/**
 * The end of the agent's process. `timeout` names the clock that ran out. `stalled`: it was ended because it only
 * retried, for a reason given in the analysis. `withdrawn`: it was ended because people took back its task.
 */
export type AgentEnd = Immutable<z.infer<typeof agentEndSchema>>;

export const verificationSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('not-run') }),
    z.object({ kind: z.literal('passed'), durationMs: z.number() }),
    z.object({
      kind: z.literal('failed'),
      command: z.string(),
      code: z.number().nullable(),
      tail: z.string(),
      durationMs: z.number(),
      /**
       * True if the verification fails as it does on the untouched base. Absent if the base is not red or was not
       * compared.
       */
      asOnBase: z.boolean().optional(),
      /** Failures that the red base does not have. */
      newlyRed: z.array(z.string().max(300)).max(MAX_NEWLY_RED).optional(),
      /** Failures of the red base that are left; absent unless some were fixed and there are no other failures. */
      leftOfBase: z.array(z.string().max(64)).max(20).exactOptional(),
      /** Index of the failing command if it comes after the one that fails on the base, where its result is unknown. */
      beyondBase: z.number().int().nonnegative().exactOptional(),
    }),
  ]),
);

/** The result of the user's verify commands after an iteration; `tail` is the end of their output. */
export type Verification = Immutable<z.infer<typeof verificationSchema>>;
export const verificationKinds = ['not-run', 'passed', 'failed'] as const satisfies readonly Verification['kind'][];

const checklistSchema = z.lazy(() =>
  z.object({
    /**
     * The state of the iteration's task in its file. `gone`: its item was removed; null: the item was not there when
     * the iteration began.
     */
    current: z.enum(['open', 'done', 'gone']).nullable(),
    /** True if the task's file marked it as done before the iteration began. Earlier journals lack it. */
    wasMarked: z.boolean().default(false),
    /** Ids of the lane's tasks that their files newly mark as done. */
    done: z.array(z.string()),
    /**
     * Number of items that the iteration marked as done; its own task is included even if an earlier iteration had
     * marked it.
     */
    finished: countSchema,
    /** Number of open items that were removed. */
    removed: countSchema,
    added: countSchema,
  }),
);

/** The changes of an iteration to the task files. */
export type Checklist = Immutable<z.infer<typeof checklistSchema>>;

export const evidenceSchema = z.lazy(() =>
  z.object({
    before: snapshotSchema,
    after: snapshotSchema,
    /** Paths whose content differs between the two trees, sorted, at most 200. */
    files: z.array(z.string()).max(200),
    /** Number of all these paths. */
    fileCount: countSchema,
    /** Paths in the work tree that the branch must not get, at most 20; work that needs them is not published. */
    withheld: z.array(z.string()).max(20),
    /**
     * The withheld paths that this iteration changed. `part` is true if the task is about the path; `more` is the
     * number of further paths with the same reason, which are not named. Absent if none, or in earlier journals, where
     * all withheld paths count.
     */
    withheldHere: z
      .array(
        z.object({
          path: z.string().max(1000),
          why: z.string().max(500),
          part: z.boolean(),
          more: countSchema.exactOptional(),
        }),
      )
      .max(20)
      .optional(),
    /**
     * True if the iteration wrote notes or undid withheld changes, which the compared trees do not show; absent if not.
     */
    uncounted: z.literal(true).exactOptional(),
    /**
     * Names of work that this iteration left outside of the work tree (branches, stashes, other work trees), at most
     * 20; absent if none.
     */
    beside: z.array(z.string().max(200)).max(20).optional(),
    /** Files to which this iteration added conflict markers, at most 20; absent if none. */
    marked: z.array(z.string().max(1000)).max(20).exactOptional(),
    /** Number of commits that the agent made itself. */
    agentCommits: countSchema,
    insertions: countSchema,
    deletions: countSchema,
    end: agentEndSchema,
    /** Length of the agent's final message in characters. */
    outputChars: countSchema,
    /** True if that message ends in a status block that is ignored because it is in a code fence. */
    fencedBlock: z.boolean(),
    verification: verificationSchema,
    /**
     * The changes to the task files; null if the lane has no task files. Journals of versions without task files lack
     * it.
     */
    checklist: checklistSchema.nullable().default(null),
    /** A file made in this run by which the agent says that everything is done; null if none. */
    doneMarker: z.string().max(200).nullable().default(null),
    /**
     * The merge of the base branch: `open` if it is still to be finished, `made` if it was committed. Earlier journals
     * lack it.
     */
    merge: z.enum(['none', 'open', 'made']).default('none'),
    /** Results for the lock files that a merge had to regenerate; absent if none. */
    lockFiles: lockFilesSchema.optional(),
    /** MCP servers whose tools the agent did not have, with their states; absent if none. */
    failedServers: z.array(z.string()).max(20).exactOptional(),
    /** The usage of the agent call of an iteration without a pipeline, as it was booked. Earlier journals lack it. */
    call: callUsageSchema.exactOptional(),
    /** The results of the pipeline's steps; empty without a pipeline. Earlier journals lack it. */
    steps: z.array(stepRecordSchema).max(50).default([]),
  }),
);

/**
 * The measured changes of an iteration; never a claim. `before` and `after` are published content, without withheld
 * files.
 */
export type Evidence = Immutable<z.infer<typeof evidenceSchema>>;
