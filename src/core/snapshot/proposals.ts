import { z } from 'zod';
import type { Grant } from '../people/consent.ts';
import { amountSchema, type Immutable, instantSchema } from '../policy.ts';
import { MAX_PROPOSED_TASKS, MAX_SHOWN_CHARS } from '../proposal/proposal.ts';
import { tryJson } from '../text/try-json.ts';
import { issueOfId, type TaskId, toIssueLane } from '../tasks/ids.ts';
import type { TaskProgress } from '../tasks/task.ts';
import { parseLaneIn, PROPOSAL_FILE, type Snapshot, type SnapshotChange, withFile } from './snapshot.ts';

/** Maximum number of proposals that are kept; the oldest unapproved ones are dropped first. */
const MAX_PROPOSALS = 50;
/** Time in ms after which another run may continue the work of a killed one. */
const MAKING_MS = 10 * 60_000;

const number = z.int().positive();
const hash = z.string().max(64);

const recordSchema = z.object({
  version: z.literal(1),
  issue: number,
  /** Hash of the issue's text that the agent read, as in `Approval`. */
  text: hash,
  /** Hash of the sub-tasks, which people see. */
  hash,
  /** Hash of the comment that shows them, as it was posted. */
  comment: hash,
  at: instantSchema,
  /** The sub-tasks as the issues that they become; `dependsOn` are positions from 1. */
  tasks: z
    .array(
      z.object({
        title: z.string().min(1).max(300),
        body: z.string().max(MAX_SHOWN_CHARS),
        dependsOn: z.array(z.int().min(1)).max(MAX_PROPOSED_TASKS),
        ceilingUsd: amountSchema,
      }),
    )
    .min(1)
    .max(MAX_PROPOSED_TASKS),
  /** The person who approved it, and the instant of their command. */
  approved: z
    .object({
      by: z.object({ login: z.string().max(100), id: number.nullable(), kind: z.enum(['user', 'bot']) }),
      at: instantSchema,
    })
    .nullable(),
  /** The run that makes the sub-issues now. */
  maker: z.object({ runTag: z.string().max(100), until: instantSchema }).nullable(),
  /** The sub-issues made so far, each with its position (from 1), GitHub's id, and the hash of its approved text. */
  made: z.array(z.object({ position: z.int().min(1), number, id: number, text: hash })).max(MAX_PROPOSED_TASKS),
  /** True once all sub-issues are made and have their dependencies and the task label. */
  isComplete: z.boolean(),
});

/** A proposal of sub-tasks for an issue, and what became of it. */
export type ProposalRecord = Immutable<z.infer<typeof recordSchema>>;

/** A sub-issue that was made. */
export type MadeIssue = ProposalRecord['made'][number];

/** Returns the newest proposal for an issue; null if none can be read. */
export function findProposal(snapshot: Snapshot, issue: number): ProposalRecord | null {
  return parseFile(fileOf(issue), snapshot.get(fileOf(issue)) ?? '');
}

/**
 * Keeps a proposal in place of an earlier one. Answers false if the earlier one is approved, because approved proposals
 * are never replaced.
 */
export function keepProposal(record: ProposalRecord): SnapshotChange<boolean> {
  return (snapshot) => {
    const message = `issue #${record.issue}: sub-tasks proposed (${record.hash})`;
    if (findProposal(snapshot, record.issue)?.approved != null) return { snapshot, message: '', answer: false };
    const others = proposalsIn(snapshot).filter(({ issue }) => issue !== record.issue);
    const dropped = others.toSorted(approvedAndNewestFirst).slice(MAX_PROPOSALS - 1);
    return {
      snapshot: dropped.reduce(
        (next, { issue }) => withFile(next, fileOf(issue), null),
        withProposal(snapshot, record),
      ),
      message,
      answer: true,
    };
  };
}

/** A run that makes the sub-issues of an approved proposal. */
interface Making {
  readonly issue: number;
  readonly hash: string;
  readonly approved: NonNullable<ProposalRecord['approved']>;
  readonly runTag: string;
  readonly now: number;
}

/** The answer to a run that wants to make the sub-issues. */
export type MakingAnswer =
  | { readonly kind: 'begun'; readonly record: ProposalRecord }
  /** Another run is making the sub-issues; its hold ends at `until`. */
  | { readonly kind: 'busy'; readonly until: number }
  /** The proposal was replaced since this run read it. */
  | { readonly kind: 'replaced' };

/** Makes this run the only one that makes the sub-issues. The first approval stays. */
export function beginMaking({ issue, hash, approved, runTag, now }: Making): SnapshotChange<MakingAnswer> {
  return (snapshot) => {
    const known = findProposal(snapshot, issue);
    if (known?.hash !== hash) return { snapshot, message: '', answer: { kind: 'replaced' } };
    const { maker } = known;
    if (maker !== null && maker.runTag !== runTag && maker.until > now && maker.until <= now + MAKING_MS)
      return { snapshot, message: '', answer: { kind: 'busy', until: maker.until } };
    const record = { ...known, approved: known.approved ?? approved, maker: { runTag, until: now + MAKING_MS } };
    return {
      snapshot: withProposal(snapshot, record),
      message: `issue #${issue}: proposal ${hash} approved by ${approved.by.login}`,
      answer: { kind: 'begun', record },
    };
  };
}

/**
 * Records what this run has made so far. With `isOver`, the run stops being the maker. Answers false if another run is
 * the maker.
 */
export function recordMaking(
  { issue, runTag }: Pick<Making, 'issue' | 'runTag'>,
  { made, isComplete, isOver }: Pick<ProposalRecord, 'made' | 'isComplete'> & { readonly isOver: boolean },
): SnapshotChange<boolean> {
  return (snapshot) => {
    const known = findProposal(snapshot, issue);
    if (known?.maker?.runTag !== runTag) return { snapshot, message: '', answer: false };
    return {
      snapshot: withProposal(snapshot, { ...known, made, isComplete, maker: isOver ? null : known.maker }),
      message: `issue #${issue}: ${made.length} of ${known.tasks.length} sub-issues made`,
      answer: true,
    };
  };
}

/**
 * Returns the consents that approvals of proposals gave, by the number of the sub-issue, and those that requests on
 * these issues gave.
 */
export function listGrants(snapshot: Snapshot | null, issues: readonly number[] = []): ReadonlyMap<number, Grant> {
  const grants = new Map<number, Grant>();
  for (const { approved, tasks, made } of proposalsIn(snapshot)) {
    if (approved === null) continue;
    for (const { position, number: issue, text } of made)
      grants.set(issue, { ...approved, text, ceilingUsd: tasks[position - 1]?.ceilingUsd ?? 0 });
  }
  for (const issue of issues) {
    const lane = snapshot === null ? null : parseLaneIn(snapshot, toIssueLane(issue));
    const orders = lane?.kind === 'record' ? lane.record.orders : [];
    for (const { by: login, consent } of orders) {
      if (consent === undefined) continue;
      const { id, ...seen } = consent;
      const kind = login.endsWith('[bot]') ? 'bot' : 'user';
      const ceilingUsd = grants.get(issue)?.ceilingUsd ?? null;
      grants.set(issue, { ...seen, by: { login, id, kind }, ceilingUsd, isRequest: true });
    }
  }
  return grants;
}

/** Returns the ceilings that approvals of proposals gave to these tasks, with nothing spent. */
export function listCeilings(
  snapshot: Snapshot | null,
  tasks: readonly TaskId[],
): ReadonlyMap<TaskId, NonNullable<TaskProgress['ceiling']>> {
  const grants = listGrants(snapshot);
  return new Map(
    tasks.flatMap((id) => {
      const usd = grants.get(issueOfId(id) ?? 0)?.ceilingUsd ?? null;
      return usd === null ? [] : [[id, { usd, spentUsd: 0 }] as const];
    }),
  );
}

/** Returns the issues that approvals have split, each with its sub-issues: none of them is a task. */
export function listSplitIssues(snapshot: Snapshot | null): ReadonlyMap<number, readonly number[]> {
  return new Map(
    proposalsIn(snapshot).flatMap(({ issue, approved, made }) =>
      approved === null ? [] : [[issue, made.map((one) => one.number)] as const],
    ),
  );
}

function proposalsIn(snapshot: Snapshot | null): readonly ProposalRecord[] {
  return [...(snapshot ?? [])].flatMap(([path, text]) =>
    PROPOSAL_FILE.test(path) ? (parseFile(path, text) ?? []) : [],
  );
}

function approvedAndNewestFirst(one: ProposalRecord, other: ProposalRecord): number {
  return Number(one.approved === null) - Number(other.approved === null) || other.at - one.at;
}

function parseFile(path: string, text: string): ProposalRecord | null {
  const parsed = recordSchema.safeParse(tryJson(text));
  return parsed.success && fileOf(parsed.data.issue) === path ? parsed.data : null;
}

function withProposal(snapshot: Snapshot, record: ProposalRecord): Snapshot {
  return withFile(snapshot, fileOf(record.issue), `${JSON.stringify(record, null, 1)}\n`);
}

function fileOf(issue: number): string {
  return `proposals/${issue}.json`;
}
