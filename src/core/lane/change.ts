import { z } from 'zod';
import { AGENT_NAMES, type AgentName, AGENTS } from '../agent-names.ts';
import type { Signal } from '../analysis/analysis.ts';
import { type Verification, verificationKinds } from '../evidence.ts';
import { isFeedback } from '../feedback/subject.ts';
import { amountSchema, countSchema, type Immutable, type Policy } from '../policy.ts';
import { reviewSchema } from '../pipeline/review.ts';
import type { listReviews } from '../pipeline/step-record.ts';
import { type Proof, proofSchema } from '../proof/proof.ts';
import { type LookAtKind, lookAtKinds } from '../review/manifest.ts';
import { storedTaskId, type TaskId } from '../tasks/ids.ts';
import { getProgress } from '../tasks/queue.ts';
import { isFinished, type TaskProgress } from '../tasks/task.ts';
import { pickOneOfEachReason } from '../review/left-out.ts';
import { cutText } from '../text/phrase.ts';

/** Maximum number of commits listed per task; further ones are only counted. */
const MAX_COMMITS = 10;

/** Maximum length of the agent's words about a task, in characters. */
const MAX_WORDS_CHARS = 500;

const MAX_TITLE_CHARS = 120;

const MAX_LINES = 20;

const MAX_LINE_CHARS = 250;

/** Maximum number of tasks listed; older ones count only in the totals. */
const MAX_SHARES = 60;

/** Maximum number of left-out files listed, half of them from earlier runs. */
const MAX_LEFT_OUT = 40;

const MAX_PATH_CHARS = 200;

/** Maximum number of reviews kept, newest last. */
const MAX_REVIEWS = 5;

const words = z.string().max(MAX_WORDS_CHARS);

const sizeSchema = z.object({
  files: countSchema,
  insertions: countSchema,
  deletions: countSchema,
  /** Parent of the task's first commit; null if unknown. */
  since: z.string().max(64).nullable().default(null),
});

/** The size of a task's commits. */
export type TaskSize = Immutable<z.infer<typeof sizeSchema>>;

const shareSchema = z.lazy(() =>
  z.object({
    title: z.string().max(MAX_TITLE_CHARS),
    iterations: countSchema,
    costUsd: amountSchema,
    /** Number of iterations of unknown cost, which `costUsd` does not include. Absent in older documents. */
    unpriced: countSchema.default(0),
    tokens: countSchema,
    durationMs: countSchema,
    /** The task's newest commits, newest last. */
    commits: z.array(z.string().max(64)).max(MAX_COMMITS),
    /** Number of all the task's commits. */
    commitCount: countSchema,
    /** The agent's latest SUMMARY. */
    summary: words.nullable(),
    /** The agent's latest QUESTION. */
    question: words.nullable(),
    /** The agent's latest RECOMMENDATION. */
    recommendation: words.nullable(),
    /** Result of the newest iteration that ran the verification. */
    verification: z.enum(verificationKinds),
    /** Agents that worked on the task, latest last. Absent in documents from versions with a single agent. */
    agents: z.array(z.enum(AGENT_NAMES)).max(AGENT_NAMES.length).default([]),
    /** Size of all the task's commits; null if it was not measured. */
    size: sizeSchema.nullable(),
    /** The proof by the task's tests; absent if none was made since its newest iteration. */
    proof: proofSchema.optional(),
  }),
);

/** The costs and results of a task since the branch began. */
export type TaskShare = Immutable<z.infer<typeof shareSchema>>;

export const changeSchema = z.lazy(() =>
  z.object({
    runs: countSchema,
    iterations: countSchema,
    costUsd: amountSchema,
    /** Number of iterations of unknown cost, as in a task's share. */
    unpriced: countSchema.default(0),
    tokens: countSchema,
    durationMs: countSchema,
    tasks: z.record(storedTaskId, shareSchema),
    /** The number of the branch's iteration since which `verify` fails; null if it passes or did not run. */
    failingSince: countSchema.nullable(),
    /** Claims that the evidence overruled, newest last. */
    overruled: z.array(z.string().max(MAX_LINE_CHARS)).max(MAX_LINES),
    /** Number of further overruled claims; absent in the earliest documents of version 5. */
    overruledMore: countSchema.default(0),
    /** Files that the agent changed and that are not in the branch; absent in the earliest documents of version 5. */
    leftOut: z
      .array(z.object({ path: z.string().max(MAX_PATH_CHARS), why: z.string().max(MAX_LINE_CHARS) }))
      .max(MAX_LEFT_OUT)
      .default([]),
    /** Number of further left-out files. */
    leftOutMore: countSchema.default(0),
    /** Changed lines of the branch, without generated and lock files; null if they were not measured. */
    lines: countSchema.nullable(),
    /** Kinds of files that a reviewer looks at first; null if not measured or in earlier versions. */
    lookAt: z.array(z.enum(lookAtKinds)).nullable().default(null),
    /** The last review of each task by each step, except reviews without findings. */
    reviews: z
      .array(z.object({ task: storedTaskId, step: z.string(), review: reviewSchema }))
      .max(MAX_REVIEWS)
      .default([]),
  }),
);

/**
 * The work on a lane's branch since it began, over all runs, as its pull request describes it. Money is in US dollars.
 */
export type BranchChange = Immutable<z.infer<typeof changeSchema>>;

/** The change of a new branch. */
export const noChange: BranchChange = {
  runs: 0,
  iterations: 0,
  costUsd: 0,
  unpriced: 0,
  tokens: 0,
  durationMs: 0,
  tasks: {},
  failingSince: null,
  overruled: [],
  overruledMore: 0,
  leftOut: [],
  leftOutMore: 0,
  lines: null,
  lookAt: null,
  reviews: [],
};

/** The share of a task without any work in the branch. */
export const EMPTY_SHARE: TaskShare = {
  title: '',
  iterations: 0,
  costUsd: 0,
  unpriced: 0,
  tokens: 0,
  durationMs: 0,
  commits: [],
  commitCount: 0,
  summary: null,
  question: null,
  recommendation: null,
  verification: 'not-run',
  agents: [],
  size: null,
};

/** The amounts and words that one iteration adds to the change. */
export interface IterationShare {
  readonly taskId: TaskId;
  readonly title: string;
  readonly signal: Pick<Signal, 'summary' | 'asks' | 'recommendation' | 'lastWords'>;
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly durationMs: number;
  readonly commit: string | null;
  /** The agent that worked; null if it is unknown or its provider did not answer. */
  readonly agent: AgentName | null;
  readonly verification: Verification['kind'];
  /** True if a step made a call of unknown cost, even if the cost of other calls is known. */
  readonly isPartlyPriced?: boolean;
  readonly reviews?: ReturnType<typeof listReviews>;
  /** True if the iteration finished its task. */
  readonly isDone?: boolean;
  readonly overruled: readonly string[];
  /** Titles of other tasks that the iteration finished, by id. */
  readonly alsoDone: Readonly<Record<TaskId, string>>;
}

/** Returns true if the iteration used an agent and its cost is unknown. */
export function isUnpriced(share: Pick<IterationShare, 'costUsd' | 'tokens' | 'agent' | 'isPartlyPriced'>): boolean {
  const { costUsd, tokens, agent, isPartlyPriced } = share;
  const isMute = agent !== null && !AGENTS[agent].cost && !AGENTS[agent].tokens;
  return isPartlyPriced === true || (costUsd === null && ((tokens ?? 0) > 0 || isMute));
}

/**
 * Returns the change after one more iteration. An iteration on feedback counts only in the totals, because feedback
 * tasks have no share.
 */
export function addIteration(change: BranchChange, iteration: IterationShare): BranchChange {
  const { taskId, title, signal, commit, agent, verification, durationMs } = iteration;
  const before = findTaskShare(change, taskId);
  const [costUsd, tokens] = [iteration.costUsd ?? 0, iteration.tokens ?? 0];
  const unpriced = isUnpriced(iteration) ? 1 : 0;
  const iterations = change.iterations + 1;
  const share: TaskShare = {
    title: cutText(title, MAX_TITLE_CHARS),
    iterations: before.iterations + 1,
    costUsd: before.costUsd + costUsd,
    unpriced: before.unpriced + unpriced,
    tokens: before.tokens + tokens,
    durationMs: before.durationMs + durationMs,
    commits: commit === null ? before.commits : [...before.commits, commit].slice(-MAX_COMMITS),
    commitCount: before.commitCount + (commit === null ? 0 : 1),
    summary: capWords(signal.summary) ?? before.summary,
    // A question is open only if the newest iteration asks it, so an earlier one is dropped.
    question: capWords(signal.asks),
    // The agent's last words are quoted if it forgets its status block.
    recommendation: capWords(signal.recommendation ?? signal.lastWords ?? null) ?? before.recommendation,
    verification: verification === 'not-run' ? before.verification : verification,
    agents: agent === null ? before.agents : [...before.agents.filter((other) => other !== agent), agent],
    size: before.size,
  };
  const claims = [
    ...change.overruled,
    ...iteration.overruled.map((claim) => cutText(`Iteration ${iterations}: ${claim}`, MAX_LINE_CHARS)),
  ];
  const overruled = lastOfEach(claims);
  const others = Object.entries(change.tasks).filter(([id]) => id !== taskId);
  const also = Object.entries(iteration.alsoDone)
    .filter(([id]) => id !== taskId && !hasTaskShare(change, id) && !isFeedback(id))
    .map(([id, known]) => [id, { ...EMPTY_SHARE, title: cutText(known, MAX_TITLE_CHARS), verification }] as const);
  const own = isFeedback(taskId) ? [] : [[taskId, share] as const];
  return {
    ...change,
    iterations,
    costUsd: change.costUsd + costUsd,
    unpriced: change.unpriced + unpriced,
    tokens: change.tokens + tokens,
    durationMs: change.durationMs + durationMs,
    tasks: Object.fromEntries([...others, ...also, ...own].slice(-MAX_SHARES)),
    failingSince:
      verification === 'not-run'
        ? change.failingSince
        : verification === 'passed'
          ? null
          : (change.failingSince ?? iterations),
    overruled,
    overruledMore: change.overruledMore + claims.length - overruled.length,
    reviews: withReviews(change.reviews, iteration),
  };
}

/**
 * Returns the last reviews after an iteration. The earlier review of a step that did not run stays, unless the task is
 * done without that step, which is then no longer in the pipeline.
 */
function withReviews(
  before: BranchChange['reviews'],
  { taskId, reviews = [], isDone = false }: Pick<IterationShare, 'taskId' | 'reviews' | 'isDone'>,
): BranchChange['reviews'] {
  const ran = reviews.filter(({ hasRun }) => hasRun);
  const isOver = (step: string): boolean => reviews.find((own) => own.step === step)?.hasRun ?? isDone;
  const others = before.filter(({ task, step }) => task !== taskId || !isOver(step));
  const found = ran.filter(({ review }) => review.unreadable !== null || review.findings.length > 0);
  return [...others, ...found.map(({ step, review }) => ({ task: taskId, step, review }))].slice(-MAX_REVIEWS);
}

/** Returns at most `MAX_LINES` claims. Earlier copies of repeated claims are dropped first, then the oldest claims. */
function lastOfEach(claims: readonly string[]): readonly string[] {
  const kept = [...claims];
  while (kept.length > MAX_LINES) {
    const words = kept.map((claim) => claim.replace(/^Iteration \d+: /, ''));
    const again = words.findIndex((claim, i) => words.includes(claim, i + 1));
    kept.splice(Math.max(0, again), 1);
  }
  return kept;
}

/** A file that the agent changed and that is not in the branch, with the reason. */
type LeftOut = BranchChange['leftOut'][number];

/**
 * Returns the change with its left-out files after an iteration. `begun` is the change when the run began, `ofRun` the
 * paths that any iteration of the run left out, `now` the files that are still left out. A file of an earlier run stays
 * listed until its path is published, because its content was lost with that run's machine.
 */
export function withLeftOutFiles(
  change: BranchChange,
  iteration: {
    readonly begun: Pick<BranchChange, 'leftOutMore'>;
    readonly ofRun: readonly string[];
    readonly now: readonly LeftOut[];
    readonly published: readonly string[];
  },
): BranchChange {
  const now = iteration.now.map(({ path, why }) => ({ path: capPath(path), why: cutText(why, MAX_LINE_CHARS) }));
  const isSettled = new Set([
    ...[...iteration.ofRun, ...iteration.published].map(capPath),
    ...now.map(({ path }) => path),
  ]);
  const earlier = change.leftOut.filter(({ path }) => !isSettled.has(path));
  const leftOut = pickOneOfEachReason(now, MAX_LEFT_OUT / 2);
  const leftOutMore = iteration.begun.leftOutMore + now.length - leftOut.length;
  return { ...change, leftOut: [...earlier, ...leftOut], leftOutMore };
}

function capPath(path: string): string {
  return cutText(path, MAX_PATH_CHARS);
}

/** Returns the change with one more run; `begins` is true if this is the branch's first run. */
export function addRun(change: BranchChange, begins: boolean): BranchChange {
  const before = begins ? noChange : change;
  const leftOut = pickOneOfEachReason(before.leftOut, MAX_LEFT_OUT / 2);
  const leftOutMore = before.leftOutMore + before.leftOut.length - leftOut.length;
  return { ...before, runs: before.runs + 1, leftOut, leftOutMore };
}

/** Returns the change with measured sizes of the branch and its tasks. */
export function withMeasuredSizes(
  change: BranchChange,
  measured: {
    readonly lines: number;
    readonly sizes: Readonly<Record<TaskId, TaskSize>>;
    readonly lookAt: readonly { readonly kind: LookAtKind }[];
  },
): BranchChange {
  const { lines, sizes, lookAt } = measured;
  const tasks = Object.entries(change.tasks).map(
    ([id, share]) => [id, { ...share, size: Object.hasOwn(sizes, id) ? (sizes[id] ?? null) : share.size }] as const,
  );
  const kinds = lookAt.map(({ kind }) => kind);
  return { ...change, lines, lookAt: kinds, tasks: Object.fromEntries(tasks) };
}

/** Returns the change with a task's proof; returns it unchanged if the task has no share. */
export function withProof(change: BranchChange, task: TaskId, proof: Proof): BranchChange {
  if (!hasTaskShare(change, task)) return change;
  return { ...change, tasks: { ...change.tasks, [task]: { ...findTaskShare(change, task), proof } } };
}

/** Returns true if the task has a share in the change. */
export function hasTaskShare({ tasks }: BranchChange, id: TaskId): boolean {
  return Object.hasOwn(tasks, id);
}

/** Returns true if the change has reached a limit and must be reviewed; a limit of 0 means no limit. */
export function isChangeFull(
  change: BranchChange,
  progress: Readonly<Record<TaskId, TaskProgress>>,
  { maxTasksPerPr, maxLinesPerPr }: Pick<Policy, 'maxTasksPerPr' | 'maxLinesPerPr'>,
): boolean {
  const done = Object.keys(change.tasks).filter((id) => isFinished(getProgress(progress, id))).length;
  return (maxTasksPerPr > 0 && done >= maxTasksPerPr) || (maxLinesPerPr > 0 && (change.lines ?? 0) >= maxLinesPerPr);
}

/** Returns a task's share in the change. */
export function findTaskShare({ tasks }: Pick<BranchChange, 'tasks'>, id: TaskId): TaskShare {
  return (Object.hasOwn(tasks, id) ? tasks[id] : undefined) ?? EMPTY_SHARE;
}

function capWords(text: string | null): string | null {
  return text === null || text === '' ? null : cutText(text, MAX_WORDS_CHARS);
}
