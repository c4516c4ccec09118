import type { Command } from '../../core/people/command.ts';
import type { LaneId } from '../../core/tasks/ids.ts';
import type { Account, ReactionTarget } from '../../ports/forge.ts';

/** What an event means for a run. */
export type Meaning = EventMeaning | Dismissed;

/** An event that a run does something for. */
export interface EventMeaning {
  readonly kind: 'for-us';
  /** The lanes that it names: the run may claim them. */
  readonly lanes: readonly LaneId[];
  /** Whether it may also mean a lane that its payload does not name. */
  readonly mayBeOtherLane: boolean;
  readonly asker: Asker;
  /** What is to be done. */
  readonly intent: Intent;
}

/** Who asks for work or an answer by the event, and on which issue or pull request (null: on none). */
export type Asker =
  /** CI, the schedule, or somebody who could start the run; `login` null: nobody, or nobody knows. */
  | { readonly kind: 'trusted'; readonly login: string | null; readonly thread: number | null }
  /** Somebody whose permission decides. */
  | { readonly kind: 'account'; readonly account: Account; readonly thread: number }
  | { readonly kind: 'nobody' };

/** The person who asked, and where. Bots are not mentioned. */
export function requesterOf(meaning: Meaning): { readonly by: string | null; readonly thread: number | null } {
  const asker: Asker = meaning.kind === 'for-us' ? meaning.asker : { kind: 'nobody' };
  switch (asker.kind) {
    case 'trusted':
      return { by: asker.login, thread: asker.thread };
    case 'account':
      return { by: asker.account.kind === 'user' ? asker.account.login : null, thread: asker.thread };
    case 'nobody':
      return { by: null, thread: null };
  }
}

/** What is to be done for an event. */
export type Intent =
  /** `actor`: login of the person who started the run by hand; null: nobody did, or nobody knows. */
  | { readonly kind: 'work-queue'; readonly actor: string | null }
  /** `approvedText`: the issue as it was when `actor` put the label on. */
  | {
      readonly kind: 'work-issue';
      readonly issue: number;
      readonly approvedText: { readonly title: string; readonly body: string };
      readonly actor: Account;
    }
  | { readonly kind: 'withdraw'; readonly issue: number; readonly because: Withdrawal }
  /** A closed issue with the task label is open again. */
  | { readonly kind: 'take-back'; readonly issue: number }
  /** Title or body of an issue with the task label was changed. */
  | { readonly kind: 'recheck'; readonly issue: number }
  | { readonly kind: 'end-lane'; readonly pullRequest: ClosedPullRequest; readonly actor: Account }
  /** People or CI said something of a pull request of ours. */
  | {
      readonly kind: 'answer';
      readonly pullRequest: SaidOf;
      readonly about: 'review' | 'check';
      /** Who said it; null: CI did. */
      readonly actor: Account | null;
    }
  | {
      readonly kind: 'command';
      readonly command: Command;
      /** The comment that gets the acknowledging reaction; null: GitHub has no reactions to the body of a review. */
      readonly reactTo: ReactionTarget | null;
      readonly thread: Thread;
      readonly actor: Account;
    }
  /** Everybody who may dispatch may command. `actor`: their login; null: the server does not say. */
  | { readonly kind: 'dispatched-command'; readonly command: Command; readonly actor: string | null };

/** The run ends before it connects to anything. */
export type Dismissed =
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'not-for-us'; readonly why: string };

/** How an issue with the task label stopped being a task. */
export const withdrawals = ['unlabeled', 'closed', 'deleted', 'transferred'] as const;
type Withdrawal = (typeof withdrawals)[number];

/** Where a comment stands. */
export interface Thread {
  readonly number: number;
  readonly isPullRequest: boolean;
}

/** A pull request of this repository that was closed just now. */
interface ClosedPullRequest {
  readonly number: number;
  readonly branch: string;
  /** Tip of the branch then. */
  readonly head: string;
  readonly merged: boolean;
}

/** The pull request that an event is about, as far as its payload says. */
interface SaidOf {
  /** null: the payload has only the branch. */
  readonly number: number | null;
  readonly branch: string;
  /** The commit that was looked at; null: the payload does not say. */
  readonly head: string | null;
}

/** The inputs of the step, and the fact of its workflow, that the meaning of an event depends on. */
export interface EventInputs {
  readonly taskLabel: string;
  readonly command: string;
  readonly branchPrefix: string;
  /** Whether reviews and failed checks are answered. */
  readonly answers: { readonly reviews: boolean; readonly checks: boolean };
  /** The file of the run's own workflow, `.github/workflows/ralph.yml`; null: not known. */
  readonly ownWorkflow: string | null;
}
