import type { AgentName } from '../agent-names.ts';
import type { AgentEnd, Verification } from '../evidence.ts';
import { hasWorked, type JournalEntry } from '../journal/journal.ts';
import type { TaskShare } from '../lane/change.ts';
import { describeStepResult } from '../pipeline/step-record.ts';
import type { Task } from '../tasks/task.ts';
import { renderMore, cutText, toOneLine } from '../text/phrase.ts';
import type { CallAim } from './hints.ts';

/** The input of the rules: the user's prompt and its task. */
interface PromptAndTask {
  readonly prompt: string;
  readonly task: Pick<Task, 'source'>;
  /** `listed` if the task's file on this branch contains its item. */
  readonly standing: 'listed' | 'unlisted';
  /** Path of the lane's notebook. */
  readonly notesPath: string;
  readonly aim: CallAim;
}

interface Rule {
  readonly isNeeded: (work: PromptAndTask) => boolean;
  /** Returns one line; all lines and the heading stay below 600 characters. */
  readonly sentence: (work: PromptAndTask) => string;
}

const HEADING =
  '# What takes precedence\n\nThe text above may be written for another loop. Where it differs from the rest of this prompt:\n';

const rules: readonly Rule[] = [
  {
    // Prompts forbid changes to these files in too many ways ("leave .ralph/ alone") to recognize each, so any mention
    // is enough.
    isNeeded: (work) =>
      isListedInFile(work) &&
      work.aim !== 'once' &&
      (/\.ralph\b|fix_plan|prd\.json|\.beads\b|\bthe plan\b/i.test(work.prompt) || namesItsFile(work)),
    sentence: ({ task: { source }, aim }) =>
      `${aim === 'step' ? 'If you finish the task, mark its item' : 'Mark the item of your task'}${'path' in source && source.path.length <= 40 ? ` in ${source.path}` : ''} anyway.`,
  },
  {
    isNeeded: (work) => !isListedInFile(work) && /\.ralph\b/i.test(work.prompt),
    sentence: ({ notesPath }) => `Your notes go to ${toOneLine(notesPath, 60)} anyway.`,
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

/** Maximum characters of the description of all attempts, so that the prompt keeps its size. */
export const MAX_ATTEMPTS_CHARS = 700;

const MAX_ITERATIONS = 3;

const MAX_ITEMS = 3;

const MAX_ITEM_CHARS = 120;

/**
 * Describes what the last iterations of a run did and how they failed, oldest first. The result contains text of the
 * agent and must be shown as data.
 */
export function describeAttempts(journal: readonly JournalEntry[]): string {
  const attempts: string[] = [];
  let room = MAX_ATTEMPTS_CHARS;
  for (const attempt of journal.slice(-MAX_ITERATIONS).reverse().map(describeAttempt)) {
    // The newest attempt is always shown, cut if necessary.
    if (attempts.length > 0 && attempt.length + 1 > room) break;
    attempts.unshift(cutText(attempt, room));
    room -= attempt.length + 1;
  }
  return attempts.join('\n');
}

/** Describes one iteration: its changes and how it failed. */
function describeAttempt({ iteration, taskId, analysis, evidence, verdict }: JournalEntry): string {
  const { agentError, denials, errors, signal } = analysis;
  const change = !verdict.progress
    ? 'changed nothing'
    : evidence.fileCount === 0
      ? 'marked what was done before'
      : `changed ${listItems(evidence.files, evidence.fileCount)}`;
  const facts = [
    ...describeCallEnd(evidence.end),
    ...(agentError === null ? [] : [`the CLI failed (${agentError.kind}): ${shorten(agentError.text)}`]),
    ...(evidence.failedServers ?? []).slice(0, MAX_ITEMS).map((name) => `no tools of the MCP server ${shorten(name)}`),
    ...errors.slice(0, MAX_ITEMS).map(({ text }) => `error: ${shorten(text)}`),
    ...(denials.length === 0
      ? []
      : [
          `refused: ${listItems(
            denials.map(({ tool, command }) => (command === null ? tool : `${tool} ${command}`)),
            denials.length,
          )}`,
        ]),
    ...verdict.discrepancies.map(shorten),
    ...describeVerification(evidence.verification),
    ...evidence.steps
      .filter(({ result }) => result.kind === 'failed')
      .map(({ name, result }) => `step ${shorten(name)} ${shorten(describeStepResult(result))}`),
    ...(signal.recommendation === null ? [] : [`it planned: ${shorten(signal.recommendation)}`]),
  ];
  return [`Iteration ${iteration} (${taskId}): ${change}.`, ...facts.map((fact) => `- ${fact}`)].join('\n');
}

function describeCallEnd(end: AgentEnd): readonly string[] {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? [] : [`ended with exit code ${end.code}`];
    case 'timeout':
      return ['ran out of time'];
    case 'stalled':
      return ['was ended because its CLI only retried'];
    case 'signalled':
      return [`was ended by ${end.signal}`];
    case 'cancelled':
      return ['was cancelled'];
    case 'withdrawn':
      return ['was ended because people took its task back'];
  }
}

function describeVerification(verification: Verification): readonly string[] {
  return verification.kind === 'failed'
    ? [`verification failed: ${shorten(verification.command)} (exit code ${verification.code ?? 'unknown'})`]
    : [];
}

function listItems(items: readonly string[], count: number): string {
  return `${items.slice(0, MAX_ITEMS).map(shorten).join(', ')}${renderMore(count - MAX_ITEMS)}`;
}

function shorten(text: string): string {
  return toOneLine(text, MAX_ITEM_CHARS);
}

/** Maximum characters of the whole description, set by the prompt's size. */
export const MAX_TAKEOVER_CHARS = 900;

const MAX_WORDS_CHARS = 300;

/** The history for an agent that takes over a task. */
export interface Takeover {
  /** The agent that worked on the task last. */
  readonly from: AgentName;
  /** The history with words of agents, which must be shown as data. */
  readonly text: string;
}

/**
 * Describes a task's history for an agent if another one worked on the task last; returns null otherwise. `entries` are
 * those of this run; the task's share covers earlier runs.
 */
export function describeTakeover(
  agent: AgentName,
  takeover: { readonly taskId: string; readonly entries: readonly JournalEntry[]; readonly share: TaskShare },
): Takeover | null {
  const { taskId, entries, share } = takeover;
  const from = share.agents.at(-1);
  if (from === undefined || from === agent) return null;
  const { iterations, summary, recommendation, question, verification } = share;
  const head = [
    `${iterations} ${iterations === 1 ? 'iteration' : 'iterations'} so far${verification === 'not-run' ? '' : `, verification ${verification}`}.`,
    ...quoteWords('It summed up', summary),
    ...quoteWords('It planned', recommendation),
    ...quoteWords('It asked', question),
  ].join('\n');
  const worked = entries.filter((entry) => entry.taskId === taskId && hasWorked(entry)).slice(-MAX_ITERATIONS);
  const texts = [head];
  let room = MAX_TAKEOVER_CHARS - head.length;
  for (const entry of worked.reverse()) {
    const text = describeAttempt(entry);
    if (text.length + 1 > room) break;
    // Entries are ordered oldest first, after the summary of the whole task, so each older one is inserted there.
    texts.splice(1, 0, text);
    room -= text.length + 1;
  }
  return { from, text: cutText(texts.join('\n'), MAX_TAKEOVER_CHARS) };
}

function quoteWords(how: string, words: string | null): readonly string[] {
  return words === null ? [] : [`${how}: ${toOneLine(words, MAX_WORDS_CHARS)}`];
}

/**
 * Returns the rules that take precedence where the user's prompt may contradict the loop. Only rules on topics of the
 * prompt are listed, in at most 600 characters; empty if none apply. The prompt itself is not changed.
 */
export function renderPrecedenceRules(work: PromptAndTask): string {
  const lines = rules.filter(({ isNeeded }) => isNeeded(work)).map(({ sentence }) => `- ${sentence(work)}`);
  return lines.length === 0 ? '' : `${HEADING}\n${lines.join('\n')}`;
}

function namesItsFile({ prompt, task: { source } }: PromptAndTask): boolean {
  return 'path' in source && prompt.includes(source.path);
}

function isListedInFile({ task: { source }, standing }: PromptAndTask): boolean {
  return 'path' in source && source.kind !== 'prompt' && standing === 'listed';
}

/** Returns how a call marks its task as finished in the task's file. */
export function describeMarking(
  kind: Exclude<Task['source']['kind'], 'issue' | 'prompt' | 'feedback'>,
  standing: 'listed' | 'unlisted',
  aim: 'task' | 'step',
): string {
  if (standing === 'unlisted')
    return 'Its item is not in that file on this branch, so there is nothing to mark: only the status block says that the task is finished. Do not add it. Do not mark, delete or reword any other item.';
  const mark = {
    plan: 'tick the box of that item: `[ ]` becomes `[x]`, and its words stay as they are',
    prd: 'mark that entry: `"passes": true` or `"status": "done"`, whichever of the two fields it has',
    beads: 'set the `status` of that issue to `closed`',
  }[kind];
  // The mark is conditional, because a step such as a review may not do the task at all.
  if (aim === 'step')
    return `Its first line says where its item is. A step whose instructions have it finish the task says so there once it is finished, or it does not count as finished: ${mark}. Any other step leaves that file alone.`;
  return `Its first line says where its item is. When the task is finished, and not before, ${mark}. Without that mark it does not count as finished. Do not mark, delete or reword any other item. If you find something missing, you may add it as an item of its own: it becomes a task.`;
}
