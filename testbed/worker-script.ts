import { findCorrection, withoutNumbers, type Correction } from './corrections.ts';
import type { Conversation, Script, ModelStep } from './scripted-model/step.ts';
import { isLastTask, writeStatusBlock, parseNamedTask, visitOf } from './scripted-work.ts';

/**
 * A script under which the real CLI does small real work on the task named in its prompt: it writes a file, commits it
 * on the visit that finishes the task, and ends with a status block. The session's prompts are counted to number the
 * visits. A change of files that people or CI ask for takes one visit.
 */
export function createWorkerScript(): Script {
  return (conversation) => {
    const prompt = conversation.prompts.at(-1) ?? '';
    const task = parseNamedTask(prompt);
    if (task === null) return { kind: 'reply', text: 'The prompt names no task, so I did nothing.' };
    const correction = findCorrection(prompt, task);
    if (correction !== null) return stepOf(correction, conversation, isLastTask(prompt));
    const failures = conversation.results.filter((result) => result.isError);
    if (failures.length > 1) return { kind: 'reply', text: `I could not continue: ${failures.at(-1)?.text ?? ''}` };
    // A new session does not know the first visit, and the CLI refuses to overwrite a file that it has not read.
    const visit = visitOf(task, visitsTo(task.id, conversation) + failures.length);
    const done = conversation.results.length - failures.length;
    if (done === 0) return { kind: 'write', text: visit.message, path: visit.path, content: visit.content };
    if (done === 1 && visit.finishes) {
      return { kind: 'run', command: `git add ${visit.path} && git commit -q -m "Test ${task.id}"` };
    }
    const claim = {
      finishes: visit.finishes,
      exit: visit.finishes && isLastTask(prompt),
      tests: 'NOT_RUN',
      recommendation: visit.finishes ? 'Go on with the next task' : `Write the test of ${task.id}`,
      summary: visit.summary,
    } as const;
    return {
      kind: 'reply',
      text: `${visit.finishes ? 'Finished' : 'Began'} ${task.id}.\n\n${writeStatusBlock(claim)}`,
    };
  };
}

/**
 * Returns the next step: each file is read and then written, since a CLI refuses to overwrite a file that it has not
 * read.
 */
function stepOf(
  { message, paths, correct, summary }: Correction,
  { results }: Conversation,
  isLast: boolean,
): ModelStep {
  const last = results.at(-1);
  if (last?.isError === true) return { kind: 'reply', text: `I could not continue: ${last.text}` };
  const path = paths[Math.floor(results.length / 2)];
  if (path === undefined) {
    const claim = { finishes: true, exit: isLast, tests: 'NOT_RUN', recommendation: 'Go on', summary } as const;
    return { kind: 'reply', text: `${summary}\n\n${writeStatusBlock(claim)}` };
  }
  if (results.length % 2 === 0) return { kind: 'read', text: message, path };
  return { kind: 'write', text: message, path, content: correct(withoutNumbers(last?.text ?? '')) };
}

function visitsTo(taskId: string, { prompts }: Conversation): number {
  return prompts.filter((prompt) => parseNamedTask(prompt)?.id === taskId).length;
}
