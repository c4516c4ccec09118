import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { answerMarker } from '../../core/people/command.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { commitPage, renderLink, renderProse, renderText } from '../markdown.ts';
import { nextStepsForFeedback, renderSteps } from '../next/step.ts';
import { pageOf } from '../sentences/feedback.ts';

/** The task and the repository that an answer belongs to. */
interface AnswerFacts {
  readonly id: TaskId;
  readonly repositoryUrl: string;
}

/**
 * Renders the one answer to what was asked: what was done and where, or why not, in at most ten lines. The same answer
 * always renders the same text, so that it can be recognized.
 */
export function renderFeedbackAnswer(item: FeedbackItem, { id, repositoryUrl }: AnswerFacts): string {
  return [
    answerMarker(id, item.asked),
    ...askedLine(item, repositoryUrl),
    answerLine(item, repositoryUrl),
    ...quoted(item),
    ...(item.answer?.kind === 'given-up'
      ? [`**Next:** ${renderSteps(nextStepsForFeedback(item.kind, 'unknown'), 'markdown')}`]
      : []),
  ].join('\n\n');
}

/** Links what was asked when it was a review as a whole; an answer in a thread is posted below its question. */
function askedLine(item: FeedbackItem, repositoryUrl: string): readonly string[] {
  return item.kind === 'review' ? [renderLink(renderText(item.title, 120), pageOf(item, { repositoryUrl }))] : [];
}

/** Renders the answer as one line; empty while there is no answer. */
function answerLine({ answer }: FeedbackItem, repositoryUrl: string): string {
  if (answer === null) return '';
  const { kind, commit, words, isOurs } = answer;
  const where = commit === null ? '' : ` in ${commitPage(commit, repositoryUrl)}`;
  // No agent was asked: these words are our own.
  if (isOurs && words !== null) return `**${renderProse(words, 500)}**${where}.`;
  switch (kind) {
    case 'changed':
      return `**Done**${where}.`;
    case 'unchanged':
      return '**Not changed.**';
    case 'given-up':
      // The line gives no number of attempts, because the count restarts as soon as a person pushes.
      return `**A person must decide.**${commit === null ? '' : ` Ralph has tried, last${where}.`}`;
  }
}

/** Quotes the agent's words in one line that mentions, links and closes nothing. */
function quoted({ answer }: FeedbackItem): readonly string[] {
  return answer === null || answer.words === null || answer.isOurs ? [] : [`> “${renderText(answer.words, 500)}”`];
}
