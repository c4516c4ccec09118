import { z } from 'zod';
import { commandIn, isOwnComment } from '../../core/people/command.ts';
import type { ReactionTarget } from '../../ports/forge.ts';
import type { EventInputs, Intent } from './intent.ts';
import { account, ends, notForUs, notOfRalph, number, text } from './payload-parts.ts';

const action = z.string().max(100);
const pull = z.object({ ...ends, state: z.string().max(20) });
const reviewed = z.object({
  action,
  review: z.object({ state: z.string().max(40), body: text }),
  pull_request: pull,
  sender: account,
});
const commented = z.object({
  action,
  comment: z.object({ id: number.nullish(), body: text, in_reply_to_id: number.nullish() }),
  pull_request: pull,
  sender: account,
});

/** Parses `pull_request_review`: a reply in a thread is a review without a text of its own. */
export function parseReview(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = reviewed.safeParse(payload);
  if (!parsed.success) return null;
  const { action: what, review, ...event } = parsed.data;
  if (isOwnComment(review.body)) return notForUs("The review is Ralph's own.");
  // Whatever else the review says: its threads are read by the runs that come.
  const command = what === 'submitted' ? commandOf(event, { body: review.body, reactTo: null }, inputs) : null;
  if (command !== null) return command;
  if (what === 'dismissed') return notForUs('The review was dismissed, so it asks for nothing.');
  if (review.state.toLowerCase() === 'approved') return notForUs('An approval asks for nothing.');
  return answerOf(event, inputs);
}

/** Parses `pull_request_review_comment`. */
export function parseReviewComment(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = commented.safeParse(payload);
  if (!parsed.success) return null;
  const { action: what, comment, ...event } = parsed.data;
  if (isOwnComment(comment.body)) return notForUs("The comment is Ralph's own.");
  const reactTo = typeof comment.id === 'number' ? ({ kind: 'review-comment', id: comment.id } as const) : null;
  const command = what === 'created' ? commandOf(event, { body: comment.body, reactTo }, inputs) : null;
  if (command !== null) return command;
  if (what === 'deleted') return notForUs('The comment was deleted, so it asks for nothing.');
  // A review of sixty comments is one event of its own and sixty of these: one run answers them all.
  if (what === 'created' && typeof comment.in_reply_to_id !== 'number')
    return notForUs('The comment is part of a review, whose event `pull_request_review` starts the run.');
  return answerOf(event, inputs);
}

/** A command in a thread or in a review's own text is obeyed as in a comment. Words that are no command are a request: an answer to the review. */
function commandOf(
  { pull_request: about, sender }: Pick<z.output<typeof reviewed>, 'pull_request' | 'sender'>,
  { body, reactTo }: { readonly body: string; readonly reactTo: ReactionTarget | null },
  inputs: EventInputs,
): Intent | null {
  const command = commandIn(body);
  if (command === null || command.kind === 'unknown' || notOfRalph(about, inputs) !== null) return null;
  return { kind: 'command', command, reactTo, thread: { number: about.number, isPullRequest: true }, actor: sender };
}

function answerOf(
  { pull_request: about, sender }: Pick<z.output<typeof reviewed>, 'pull_request' | 'sender'>,
  inputs: EventInputs,
): Intent {
  const dismissed = notOfRalph(about, inputs);
  if (dismissed !== null) return dismissed;
  if (about.state !== 'open') return notForUs(`Pull request #${String(about.number)} is closed.`);
  if (!inputs.answers.reviews) return notForUs('`answer-reviews` is `false`: reviews are not answered.');
  return {
    kind: 'answer',
    pullRequest: { number: about.number, branch: about.head.ref, head: about.head.sha },
    about: 'review',
    actor: sender,
  };
}
