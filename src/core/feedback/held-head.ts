import { z } from 'zod';
import type { Immutable } from '../immutable.ts';

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
