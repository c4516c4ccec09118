import type { Feedback } from '../core/feedback/memory.ts';
import { sentence } from '../core/text/sentence.ts';
import { textOf } from '../errors.ts';
import type { PublishDeps } from './deps.ts';
import { within } from './within.ts';

interface ReviewAgain {
  readonly feedback: Feedback;
  readonly warnings: readonly string[];
}

/** Asks those for a new review whose approval newer commits have overtaken, once the pull request is ready. A request that is refused is a warning. */
export async function requestReviewAgain(
  { forge, log, stepWithinMs }: Pick<PublishDeps, 'forge' | 'log' | 'stepWithinMs'>,
  feedback: Feedback,
  pullRequest: number,
): Promise<ReviewAgain> {
  const { overtaken } = feedback;
  const logins = overtaken?.approvedBy ?? [];
  if (overtaken === null || logins.length === 0) return { feedback, warnings: [] };
  const asked = { ...feedback, overtaken: { ...overtaken, approvedBy: [] } };
  try {
    await within(stepWithinMs, forge.requestReview(pullRequest, { logins, teams: [] }));
    return { feedback: asked, warnings: [] };
  } catch (error) {
    const warning = `${logins.join(', ')} approved earlier commits, and a new review could not be requested: ${sentence(textOf(error))}`;
    log.warning(warning);
    return { feedback: asked, warnings: [warning] };
  }
}
