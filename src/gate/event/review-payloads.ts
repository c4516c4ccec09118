import { z } from 'zod';
import { OWN_COMMENT_MARKER } from '../../core/people/command.ts';
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
  comment: z.object({ body: text, in_reply_to_id: number.nullish() }),
  pull_request: pull,
  sender: account,
});

/** Parses `pull_request_review`: a reply in a thread is a review without a text of its own. */
export function parseReview(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = reviewed.safeParse(payload);
  if (!parsed.success) return null;
  const { action: what, review, ...event } = parsed.data;
  if (review.body.trimStart().startsWith(OWN_COMMENT_MARKER)) return notForUs("The review is Ralph's own.");
  if (what === 'dismissed') return notForUs('The review was dismissed, so it asks for nothing.');
  if (review.state.toLowerCase() === 'approved') return notForUs('An approval asks for nothing.');
  return answerOf(event, inputs);
}

/** Parses `pull_request_review_comment`. */
export function parseReviewComment(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = commented.safeParse(payload);
  if (!parsed.success) return null;
  const { action: what, comment, ...event } = parsed.data;
  if (comment.body.trimStart().startsWith(OWN_COMMENT_MARKER)) return notForUs("The comment is Ralph's own.");
  if (what === 'deleted') return notForUs('The comment was deleted, so it asks for nothing.');
  // A review of sixty comments is one event of its own and sixty of these: one run answers them all.
  if (what === 'created' && typeof comment.in_reply_to_id !== 'number')
    return notForUs('The comment is part of a review, whose event `pull_request_review` starts the run.');
  return answerOf(event, inputs);
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
