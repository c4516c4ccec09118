import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { answerMarker } from '../../core/people/command.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { commitPage, link, prose, text } from '../markdown.ts';
import { nextStepsForFeedback, renderSteps } from '../next/step.ts';
import { pageOf } from '../sentences/feedback.ts';

/** Where an answer is given. */
interface AnswerFacts {
  readonly id: TaskId;
  readonly repositoryUrl: string;
}

/** The one answer to what was asked: what was done and where, or why not, in at most ten lines. It says the same whenever it is rendered, so that it is known again. */
export function renderFeedbackAnswer(item: FeedbackItem, { id, repositoryUrl }: AnswerFacts): string {
  return [
    answerMarker(id, item.asked),
    ...askedLine(item, repositoryUrl),
    answerLine(item, repositoryUrl),
    ...quoted(item),
    ...(item.answer?.kind === 'given-up'
      ? [`**Next:** ${renderSteps(nextStepsForFeedback(id, item.kind, 'unknown'), 'markdown')}`]
      : []),
  ].join('\n\n');
}

/** An answer in a thread stands below what was asked; one to a review as a whole stands alone. */
function askedLine(item: FeedbackItem, repositoryUrl: string): readonly string[] {
  return item.kind === 'review' ? [link(text(item.title, 120), pageOf(item, { repositoryUrl }))] : [];
}

/** What came of it, as one line. Empty while nothing did. */
function answerLine({ answer }: FeedbackItem, repositoryUrl: string): string {
  if (answer === null) return '';
  const { kind, commit, words, isOurs } = answer;
  const where = commit === null ? '' : ` in ${commitPage(commit, repositoryUrl)}`;
  // No agent was asked: these words are ours.
  if (isOurs && words !== null) return `**${prose(words, 500)}**${where}.`;
  switch (kind) {
    case 'changed':
      return `**Done**${where}.`;
    case 'unchanged':
      return '**Not changed.**';
    case 'given-up':
      // How often it was tried is another number as soon as a person pushes.
      return `**A person must decide.**${commit === null ? '' : ` Ralph has tried, last${where}.`}`;
  }
}

/** Data of the agent: one line that mentions, links and closes nothing. */
function quoted({ answer }: FeedbackItem): readonly string[] {
  return answer === null || answer.words === null || answer.isOurs ? [] : [`> “${text(answer.words, 500)}”`];
}
