import type { RalphCommand } from '../../core/people/command.ts';
import type { LaneId } from '../../core/tasks/ids.ts';
import type { Account, ReactionTarget } from '../../ports/forge.ts';

/** The meaning of an event for a run. */
export type Meaning = EventMeaning | DismissedEvent;

/** An event that a run acts on. */
export interface EventMeaning {
  readonly kind: 'for-us';
  /** The lanes that the event names, which the run may claim. */
  readonly lanes: readonly LaneId[];
  /** True if the event may also be about a lane that its payload does not name. */
  readonly mayBeOtherLane: boolean;
  readonly asker: Asker;
  readonly intent: Intent;
}

/** The person whose event asks for work or an answer; `thread` is its issue or pull request. */
export type Asker =
  /**
   * CI, the schedule, or somebody who could start the run; `login` is null if there is no person or the person is
   * unknown.
   */
  | { readonly kind: 'trusted'; readonly login: string | null; readonly thread: number | null }
  /** A person whose permission decides whether the request is accepted. */
  | { readonly kind: 'account'; readonly account: Account; readonly thread: number }
  | { readonly kind: 'nobody' };

/** Returns the person who asked, and where. Bots are never mentioned. */
export function findRequester(meaning: Meaning): { readonly by: string | null; readonly thread: number | null } {
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

/** The reactions of a run to an event. */
export type Intent =
  /**
   * `actor` is the login of the person who started the run by hand; it is null for other starts, or if the login is
   * unknown.
   */
  | { readonly kind: 'work-queue'; readonly actor: string | null }
  /** `approvedText` is the issue's text at the time when `actor` added the label. */
  | {
      readonly kind: 'work-issue';
      readonly issue: number;
      readonly approvedText: { readonly title: string; readonly body: string };
      readonly actor: Account;
    }
  /** A label asks for a proposal of sub-tasks; `approvedText` is the text that the person saw. */
  | {
      readonly kind: 'propose';
      readonly issue: number;
      readonly approvedText: { readonly title: string; readonly body: string };
      readonly actor: Account;
    }
  | { readonly kind: 'withdraw'; readonly issue: number; readonly because: Withdrawal }
  /** A closed issue with the task label was reopened. */
  | { readonly kind: 'take-back'; readonly issue: number }
  /** The title or body of an issue with the task label was changed. */
  | { readonly kind: 'recheck'; readonly issue: number }
  /** A box of the dashboard may have been ticked. */
  | { readonly kind: 'dashboard'; readonly issue: number }
  | { readonly kind: 'end-lane'; readonly pullRequest: ClosedPullRequest; readonly actor: Account }
  /** People or CI commented on one of Ralph's pull requests. */
  | {
      readonly kind: 'answer';
      readonly pullRequest: SaidOf;
      readonly about: 'review' | 'check';
      /** The person who commented, or null if CI did. */
      readonly actor: Account | null;
      /** The comment or review that gets the acknowledging reaction; absent if none gets it. */
      readonly reactTo?: ReactionTarget | null;
    }
  | {
      readonly kind: 'command';
      readonly command: RalphCommand;
      /** The comment or review that gets the acknowledging reaction, or null if none can get it. */
      readonly reactTo: ReactionTarget | null;
      /**
       * Present if the comment mentions the bot that opened the pull request, whether it is Ralph's bot or another one.
       */
      readonly isMention?: true;
      readonly thread: Thread;
      readonly actor: Account;
      /** The issue at the time of the comment; null for a review, or if the event does not contain the issue. */
      readonly issueThen: IssueThen | null;
    }
  /**
   * A command in a dispatch. Everyone who may dispatch may command. `actor` is their login, or null if the server does
   * not name it.
   */
  | { readonly kind: 'dispatched-command'; readonly command: RalphCommand; readonly actor: string | null };

/** An event for which the run ends before it connects to anything. */
export type DismissedEvent =
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'not-for-us'; readonly why: string };

/** The ways in which an issue with the task label stops being a task. */
export const withdrawalEvents = ['unlabeled', 'closed', 'deleted', 'transferred'] as const;
type Withdrawal = (typeof withdrawalEvents)[number];

/** The issue or pull request of a comment. */
export interface Thread {
  readonly number: number;
  readonly isPullRequest: boolean;
  /** Present if it was closed when the comment was written. */
  readonly isClosed?: true;
}

/** An issue when a person commented on it. */
export interface IssueThen {
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
  readonly at: number;
}

/** A pull request of this repository that was just closed. */
interface ClosedPullRequest {
  readonly number: number;
  readonly branch: string;
  /** The tip of the branch at that time. */
  readonly head: string;
  readonly merged: boolean;
  /** Instant of the closing in ms, or null if the payload does not contain it. */
  readonly closedAt: number | null;
  /**
   * The merge's commit on the base branch; null if the pull request was not merged, or the payload does not contain the
   * commit.
   */
  readonly mergeCommit: string | null;
}

/** The pull request of an event, as far as its payload describes it. */
interface SaidOf {
  /** The number of the pull request, or null if the payload names only the branch. */
  readonly number: number | null;
  readonly branch: string;
  /** The commit that was reviewed or checked, or null if the payload does not name it. */
  readonly head: string | null;
}

/** The inputs of the step, and the workflow file, on which the meaning of an event depends. */
export interface EventInputs {
  readonly taskLabel: string;
  readonly command: string;
  readonly branchPrefix: string;
  /** True for each kind of feedback that is answered: reviews, failed checks. */
  readonly answers: { readonly reviews: boolean; readonly checks: boolean };
  /** The file of the run's own workflow, such as `.github/workflows/ralph.yml`, or null if it is unknown. */
  readonly ownWorkflow: string | null;
}
