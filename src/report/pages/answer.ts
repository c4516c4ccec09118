import { formatInstant } from '../../core/countdown.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { isAnsweredByComment } from '../../core/feedback/subject.ts';
import { formatAnswerMarker, OWN_COMMENT_MARKER } from '../../core/people/command.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { ProposedTask } from '../../core/proposal/proposal.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { completeSentence, toPlainTitle, listFirstNames } from '../../core/text/phrase.ts';
import { formatCost, formatCount } from '../format.ts';
import { renderCommitPageLink, renderCode, renderLink, renderProse, renderText } from '../markdown.ts';
import { suggestForFeedback, renderSteps } from '../next/step.ts';
import { findRequestPage } from '../sentences/feedback.ts';

/** The task and the repository to which an answer belongs. */
interface AnswerFacts {
  readonly id: TaskId;
  readonly repositoryUrl: string;
}

/**
 * Renders the only answer to a request: the result and its place, or the reason why nothing changed, in at most ten
 * lines. The same answer always renders the same text, so that it can be recognized.
 */
export function renderFeedbackAnswer(item: FeedbackItem, { id, repositoryUrl }: AnswerFacts): string {
  return [
    formatAnswerMarker(id, item.asked),
    ...(isAnsweredByComment(item.kind)
      ? [renderLink(renderText(item.title, 120), findRequestPage(item, { repositoryUrl }))]
      : []),
    answerLine(item, repositoryUrl),
    ...quoted(item),
    ...(item.answer?.kind === 'given-up'
      ? [`**Next:** ${renderSteps(suggestForFeedback(item.kind, 'unknown'), 'markdown')}`]
      : []),
  ].join('\n\n');
}

/** Renders the answer as one line; empty while there is no answer. */
function answerLine({ answer }: FeedbackItem, repositoryUrl: string): string {
  if (answer === null) return '';
  const { kind, commit, words, isOurs } = answer;
  const where = commit === null ? '' : ` in ${renderCommitPageLink(commit, repositoryUrl)}`;
  // No agent was asked, so these words are our own and need no quotation.
  if (isOurs && words !== null) return `**${renderProse(words, 500)}**${where}.`;
  switch (kind) {
    case 'changed':
      return `**Done**${where}.`;
    case 'unchanged':
      return '**Not changed.**';
    case 'given-up':
      // Give no number of attempts, because the count restarts as soon as a person pushes.
      return `**A person must decide.**${commit === null ? '' : ` Ralph has tried, last${where}.`}`;
  }
}

/** First line of the comment that says that a run has proposed nothing. */
export const NO_PROPOSAL_MARKER = `${OWN_COMMENT_MARKER}no-proposal -->`;

/**
 * Renders the sub-tasks that an agent proposes for an issue, without the first line of the comment. The same proposal
 * always renders the same text, so that an edited comment is detected.
 */
export function renderProposal(tasks: readonly ProposedTask[], hash: string): string {
  const total = tasks.reduce((sum, { ceilingUsd }) => sum + ceilingUsd, 0);
  return [
    `**${formatCount(tasks.length, 'sub-task')} proposed,** for at most ${formatCost(total)} together. No issue is created yet.`,
    ...tasks.map((task, at) =>
      [
        `**${String(at + 1)}. ${renderText(task.title, 200)}**`,
        ...linesOf(task).map((line) => `- ${line}`),
        ...(task.dependsOn.length === 0
          ? []
          : [`- Waits for ${listFirstNames(task.dependsOn.map((number) => `sub-task ${number}`))}`]),
      ].join('\n'),
    ),
    '**Next:** comment `/ralph approve`: exactly these become sub-issues, and Ralph works on them. For another proposal, change the text of this issue and comment `/ralph plan`. Both commands need write permission.',
    'Only the newest proposal counts, and only while nobody edits it or the text of the issue.',
    `<sub>Proposal ${hash}</sub>`,
  ].join('\n\n');
}

/** Returns the title and the text of the sub-issue for a proposed sub-task, without the text's first line. */
export function textOfSubTask(task: ProposedTask, parent: number): { readonly title: string; readonly body: string } {
  const body = [
    `Part of #${String(parent)}.`,
    linesOf(task)
      .map((line) => `- ${line}`)
      .join('\n'),
  ].join('\n\n');
  return { title: toPlainTitle(task.title, 200), body };
}

/** Renders the agent's description of a sub-task as plain text that cannot mention, link, close or await anything. */
function linesOf({ done, files, tests, ceilingUsd }: ProposedTask): readonly string[] {
  const named = (names: readonly string[]): string => names.map((name) => renderCode(name, 200)).join(', ');
  return [
    `Done when: ${renderText(done, 1_000)}`,
    ...(files.length === 0 ? [] : [`Files: ${named(files)}`]),
    ...(tests.length === 0 ? [] : [`Tests: ${named(tests)}`]),
    `Costs at most ${formatCost(ceilingUsd)}`,
  ];
}

/** Renders the reason why a run has proposed nothing, and advice. */
export function renderNoProposal({ why, outcome }: { readonly why: string | null; readonly outcome: Outcome }): string {
  const reason =
    why ??
    ('message' in outcome
      ? outcome.message
      : outcome.kind === 'parked'
        ? `A limit is reached until ${formatInstant(outcome.resumeAt)}`
        : `The run ended as ${outcome.kind} (${outcome.reason.replaceAll('_', ' ')})`);
  return `\n**No sub-tasks are proposed.** ${completeSentence(renderProse(reason, 500))}\n\n**Next:** comment \`/ralph plan\` to try again.`;
}

/** Quotes the agent's words in one line that mentions, links and closes nothing. */
function quoted({ answer }: FeedbackItem): readonly string[] {
  return answer === null || answer.words === null || answer.isOurs ? [] : [`> “${renderText(answer.words, 500)}”`];
}
