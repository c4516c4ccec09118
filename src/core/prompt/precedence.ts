import type { Aim } from './aim.ts';
import type { Task } from '../tasks/task.ts';
import { oneLine } from '../text/one-line.ts';

/** What the rules look at: the user's prompt, and the task that it is told with. */
interface Told {
  readonly prompt: string;
  readonly task: Pick<Task, 'source'>;
  /** Whether the file of the task has its item on this branch. */
  readonly standing: 'listed' | 'unlisted';
  /** Where its agent keeps its notes. */
  readonly notesPath: string;
  readonly aim: Aim;
}

interface Rule {
  readonly isNeeded: (told: Told) => boolean;
  /** One line; all of them together stay below 600 characters with the heading. */
  readonly sentence: (told: Told) => string;
}

const HEADING =
  '# What holds\n\nThe text above may be written for another loop. Where it differs from the rest of this prompt:\n';

/** What holds where a user's prompt and the loop's own rules could contradict each other: only what this prompt speaks of, at most 600 characters; empty: nothing. The user's text stays as it is. */
export function precedence(told: Told): string {
  const lines = rules.filter(({ isNeeded }) => isNeeded(told)).map(({ sentence }) => `- ${sentence(told)}`);
  return lines.length === 0 ? '' : `${HEADING}\n${lines.join('\n')}`;
}

const rules: readonly Rule[] = [
  {
    // There are too many ways to forbid it ("leave .ralph/ alone") to tell them from everything else that is said of it.
    isNeeded: (told) =>
      isListed(told) &&
      told.aim !== 'once' &&
      (/\.ralph\b|fix_plan|prd\.json|\.beads\b|\bthe plan\b/i.test(told.prompt) || namesItsFile(told)),
    sentence: ({ task: { source }, aim }) =>
      `${aim === 'step' ? 'If you finish the task, mark its item' : 'Mark the item of your task'}${'path' in source && source.path.length <= 40 ? ` in ${source.path}` : ''} anyway.`,
  },
  {
    isNeeded: (told) => !isListed(told) && /\.ralph\b/i.test(told.prompt),
    sentence: ({ notesPath }) => `Your notes go to ${oneLine(notesPath, 60)} anyway.`,
  },
  {
    isNeeded: ({ prompt, task }) =>
      (task.source.kind === 'issue' || task.source.kind === 'feedback') &&
      /fix_plan|prd\.json|\bpasses\b|\[x\]/i.test(prompt),
    sentence: ({ aim, task }) =>
      `${aim === 'task' ? 'Your' : 'The'} task is ${task.source.kind === 'issue' ? 'an issue' : 'feedback on the pull request'}: no list has an item of it to mark.`,
  },
  {
    isNeeded: ({ prompt, task, aim }) =>
      task.source.kind !== 'prompt' &&
      aim !== 'once' &&
      /\b(?:pick|choose|select|take|identify|implement|decide)\b[^\n]{0,80}\b(?:most important|highest|top|next|first|unchecked|tasks?|items?|stor(?:y|ies))\b|\bhighest[- ]priority\b|\bmost important (?:thing|item|task)|\bmultiple (?:related )?tasks\b/i.test(
        prompt,
      ),
    sentence: ({ aim }) => `${aim === 'step' ? 'The' : 'Your'} task is chosen already: the one below, and no other.`,
  },
  {
    isNeeded: ({ prompt }) =>
      /\bgit (?:push|checkout|switch|tag)\b|\bpush(?:es|ed)?\b|\bpull requests?\b|\b(?:correct|new|right|feature) branch\b|\bbranchName\b/i.test(
        prompt,
      ),
    sentence: () => 'Stay on this branch, and neither push nor open pull requests: the loop does.',
  },
  {
    isNeeded: ({ prompt }) => /RALPH_STATUS|EXIT_SIGNAL/.test(prompt),
    sentence: () => 'Of all status blocks, the one at the end of this prompt counts.',
  },
  {
    isNeeded: ({ prompt }) => /<promise>|\.ralph-complete\b|\bexit immediately\b/i.test(prompt),
    sentence: () => 'EXIT_SIGNAL in that block says whether everything is done, whatever else you print or write.',
  },
];

function namesItsFile({ prompt, task: { source } }: Told): boolean {
  return 'path' in source && prompt.includes(source.path);
}

function isListed({ task: { source }, standing }: Told): boolean {
  return 'path' in source && source.kind !== 'prompt' && standing === 'listed';
}
