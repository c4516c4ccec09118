import type { ApprovalNotice } from '../core/people/consent-messages.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { Settlement } from '../core/people/needs.ts';
import type { Need } from '../core/people/notifications.ts';
import type { OrderKind } from '../core/sharing/orders.ts';
import type { Hold } from '../core/feedback/held-head.ts';
import type { ChecksSummary } from '../core/feedback/checks/checks-summary.ts';
import type { Outcome } from '../core/outcome.ts';
import type { McpServer } from '../core/mcp/server.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { Policy } from '../core/policy.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Task } from '../core/tasks/task.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { LaneStart, OpenedLane } from '../ports/repository.ts';
import type { LaneId } from '../core/tasks/ids.ts';

/** What the gate hands to the loop (`policy`: the user's, bound by what this run reserved; `claimedAt`: from when the claim and the run's time count), or the end of the run that it decided. Plain data. */
export type Intake =
  | {
      readonly kind: 'work';
      readonly lane: Lane;
      readonly opened: OpenedLane;
      readonly tasks: readonly Task[];
      readonly state: LaneState;
      readonly policy: Policy;
      readonly claimedAt: number;
      /** What each iteration does; null: it calls the agent. */
      readonly pipeline: Pipeline | null;
      /** Servers of the agent's tools, as the base branch and the inputs name them. */
      readonly mcpServers: readonly McpServer[];
      readonly notes: Notes;
    }
  | {
      readonly kind: 'end';
      readonly outcome: Outcome;
      readonly lane: Lane | null;
      readonly tasks: readonly Task[];
      readonly state: LaneState | null;
      readonly answer: Answer | null;
      readonly over: Over | null;
      readonly notes: Notes;
    };

/** What nobody is needed for any more since the event, and the thread that may have asked for them; null: nothing. */
interface Over {
  readonly thread: number;
  readonly needs: readonly Need[];
  readonly why: Settlement;
}

/** A lane as this run found it. */
export interface Lane {
  readonly id: LaneId;
  readonly branch: string;
  readonly baseBranch: string;
  readonly start: LaneStart;
  readonly pullRequest: PullRequest | null;
}

/** What a command is answered, in the thread where it was given; null: in the job's summary and log alone. */
export interface Answer {
  readonly thread: number | null;
  readonly text:
    | { readonly kind: 'status'; readonly receipt: Receipt | null }
    | { readonly kind: 'doctor'; readonly findings: readonly Finding[] }
    | { readonly kind: 'help'; readonly word: string }
    | { readonly kind: 'refusal'; readonly why: string };
}

/** What became of an order; `changed`: it was not so before. */
export interface Receipt {
  readonly order: OrderKind;
  readonly changed: boolean;
}

/** What people must hear of how the run began. */
export interface Notes {
  /** `restored #40 (cache and ref)`, or why there is none. */
  readonly restored: string;
  readonly warnings: readonly string[];
  /** Issues whose text somebody changed who may not, and which have no notice yet that they wait for the label. */
  readonly notices: readonly ApprovalNotice[];
  /** The lease of another run; null: the lane is free. */
  readonly claimedBy: Lease | null;
  /** Files and settings of other Ralphs: what is used and what is not, one line each. */
  readonly found: readonly string[];
  /** Of the pull request's head; null: nobody looked. */
  readonly checks: ChecksSummary | null;
  /** What people had decided of the pull request's head as the run began; null: nothing, or nobody looked. */
  readonly held: HeldHead | null;
}

/** `isDraft`: whether the pull request was a draft then. `refusal`: why the head could not be freed for what is asked of it, as a sentence; null: nobody tried, or it was freed. */
export interface HeldHead {
  readonly hold: Hold;
  readonly isDraft: boolean;
  readonly refusal: string | null;
}

/** A run that ends in the gate, before it knows anything of a lane. */
export function endIntake(outcome: Outcome): Extract<Intake, { kind: 'end' }> {
  return {
    kind: 'end',
    outcome,
    lane: null,
    tasks: [],
    state: null,
    answer: null,
    over: null,
    notes: { restored: 'not needed', warnings: [], notices: [], claimedBy: null, found: [], checks: null, held: null },
  };
}
