import { z } from 'zod';
import type { ObjectId } from '../evidence.ts';
import type { Immutable } from '../policy.ts';

/** Approvers that are remembered. */
const MAX_APPROVERS = 20;

/** What people have decided of an open pull request, as GitHub has it now. */
export interface Standing {
  /** GraphQL id of the pull request. */
  readonly id: string;
  readonly isDraft: boolean;
  /** GitHub's own verdict by the rules of the base branch; null: no rule asks for a review. */
  readonly decision: 'approved' | 'changes-requested' | 'review-required' | null;
  /** The newest opinion of each person with write permission: logins, people only. */
  readonly approvedBy: readonly string[];
  readonly changesRequestedBy: readonly string[];
  readonly autoMerge: boolean;
  readonly isQueued: boolean;
}

export const holdSchema = z.object({
  /** Logins of the people who approved. */
  approvedBy: z.array(z.string().max(100)).max(MAX_APPROVERS),
  autoMerge: z.boolean(),
  queued: z.boolean(),
});

/** Why no commit may be pushed onto the head of a pull request: people approved it, or it is about to be merged. */
export type Hold = Immutable<z.infer<typeof holdSchema>>;

/** Who wrote something; `id`: GitHub's own number, null where it does not say. */
export interface Author {
  readonly login: string;
  readonly id: number | null;
  readonly kind: 'user' | 'bot';
}

/** What people and CI say of an open pull request now: raw text of strangers. Instants in ms. */
export interface PullRequestNow extends Standing {
  readonly number: number;
  readonly url: string;
  readonly head: ObjectId;
  readonly base: { readonly branch: string; readonly tip: ObjectId };
  /** `unknown`: GitHub is still computing it, and was asked twice. */
  readonly mergeable: 'mergeable' | 'conflicting' | 'unknown';
  /** The newest 100 that are not resolved, oldest first. */
  readonly threads: readonly ThreadNow[];
  /** How many more there are. */
  readonly moreThreads: number;
  /** The newest 100, oldest first. */
  readonly reviews: readonly ReviewNow[];
  readonly checks: ChecksNow;
}

/** An open pull request of one of Ralph's branches, as a list of them shows it. */
export interface WaitingPullRequest {
  readonly number: number;
  readonly branch: string;
  readonly head: ObjectId;
  readonly base: ObjectId;
  readonly mergeable: PullRequestNow['mergeable'];
  /** The checks of the head taken together; `unknown`: they still run, there are none, or the token may not read them. */
  readonly checks: 'passed' | 'failed' | 'unknown';
}

/** A thread of a review that is not resolved. */
export interface ThreadNow {
  /** GraphQL id, by which it is resolved. */
  readonly id: string;
  readonly isOutdated: boolean;
  readonly path: string;
  /** Lines of the newest head, 1-based; null: of none, or of the file as a whole. */
  readonly line: number | null;
  readonly startLine: number | null;
  /** The lines when the thread was begun. */
  readonly originalLine: number | null;
  readonly side: 'left' | 'right';
  /** Of the first line, where there are several: a comment may begin at a line that is removed and end at one that is added. */
  readonly startSide: ThreadNow['side'] | null;
  /** The first, and the newest 50, oldest first. Hidden ones are left out, but for the first, which has no text then. */
  readonly comments: readonly ThreadComment[];
}

export interface ThreadComment {
  /** REST id: answers name the thread's first comment by it. */
  readonly id: number;
  /** REST id of its review; null: it belongs to none. */
  readonly review: number | null;
  /** null: the account is gone. */
  readonly by: Author | null;
  readonly text: string;
  readonly at: number;
  /** The part of the diff that it was written on. */
  readonly hunk: string;
}

export interface ReviewNow {
  /** REST id. */
  readonly id: number;
  readonly url: string;
  readonly by: Author | null;
  readonly state: 'approved' | 'changes-requested' | 'commented' | 'dismissed' | 'pending';
  readonly text: string;
  /** null: it is not submitted yet. */
  readonly at: number | null;
}

/** `unreadable`: what the token lacks, or GitHub's words, as a sentence. `isForNow`: GitHub's servers failed, so a later run may read them. */
export type ChecksNow =
  | { readonly kind: 'known'; readonly head: readonly CheckNow[]; readonly base: readonly CheckNow[] }
  | { readonly kind: 'unreadable'; readonly why: string; readonly isForNow?: boolean };

/** A check run, a commit status, or a run of a workflow that has no jobs (it waits for approval, or its file is wrong); of the head every run of it, the oldest first. */
export interface CheckNow {
  readonly of: 'check-run' | 'status' | 'workflow';
  /** REST id of the check run, which is the job's for GitHub Actions; null: it is none. */
  readonly id: number | null;
  readonly name: string;
  /** Slug of the app that made it, `github-actions`; null: it is a status. */
  readonly app: string | null;
  /** Of GitHub Actions; null: of another app, or a status. */
  readonly workflow: WorkflowOfCheck | null;
  /** `waiting`: it waits for a person's approval, or nothing has reported it yet. `skipped`: it says nothing of the change, as it was skipped, cancelled or given up. */
  readonly result: 'passed' | 'failed' | 'running' | 'waiting' | 'skipped';
  /** GitHub's own word, such as `timed_out`. */
  readonly conclusion: string;
  readonly summary: string;
  readonly url: string | null;
  /** When it began; null: not known. */
  readonly began: number | null;
  /** When it ended, or began; null: not known. */
  readonly at: number | null;
}

/** What a check of GitHub Actions is a part of. */
interface WorkflowOfCheck {
  /** `.github/workflows/ci.yml`; null: not known. */
  readonly path: string | null;
  readonly name: string;
  /** Id of the run. */
  readonly run: number;
  /** What started it, such as `push`; empty: not known. */
  readonly event: string;
}

/** What is known of a failed check beside its name. */
export interface CheckDetails {
  readonly job: string | null;
  readonly step: string | null;
  readonly annotations: readonly Annotation[];
  /** The end of the failing step's log, cut and raw; null: there is none. */
  readonly log: string | null;
  /** Why it is not all there, as a sentence; null: it is. */
  readonly missing: string | null;
}

export interface Annotation {
  readonly path: string;
  readonly line: number | null;
  readonly level: string;
  readonly message: string;
}

/** What holds the head of a pull request; null: commits may be pushed. A draft that is not armed is not held: it is reviewed again before it is merged. */
export function holdOf(standing: Standing): Hold | null {
  const { isDraft, autoMerge, isQueued, approvedBy } = standing;
  const isApproved = !isDraft && isApprovedNow(standing);
  if (!isApproved && !autoMerge && !isQueued) return null;
  return { approvedBy: isApprovedNow(standing) ? approvedBy.slice(0, MAX_APPROVERS) : [], autoMerge, queued: isQueued };
}

/** One approval of two that a rule asks for counts as well: who gave it has seen this head and no other. */
function isApprovedNow({ decision, approvedBy, changesRequestedBy }: Standing): boolean {
  if (decision === 'approved') return true;
  return decision !== 'changes-requested' && approvedBy.length > 0 && changesRequestedBy.length === 0;
}

/** Both holds as one: what newer commits have overtaken. */
export function joinHolds(known: Hold | null, more: Hold): Hold {
  return {
    approvedBy: [...new Set([...(known?.approvedBy ?? []), ...more.approvedBy])].slice(-MAX_APPROVERS),
    autoMerge: more.autoMerge || (known?.autoMerge ?? false),
    queued: more.queued || (known?.queued ?? false),
  };
}
