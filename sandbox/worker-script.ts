import type { Conversation, Script } from './scripted-model/step.ts';
import { isLastTask, statusBlock, taskIn, visitOf } from './scripted-work.ts';

/**
 * A script under which the real CLI does small real work on the task that its prompt names: it writes a file, commits it
 * on the visit that finishes the task, and ends with a status block. A visit is counted by the prompts of the session.
 */
export function workerScript(): Script {
  return (conversation) => {
    const prompt = conversation.prompts.at(-1) ?? '';
    const task = taskIn(prompt);
    if (task === null) return { kind: 'reply', text: 'The prompt names no task, so I did nothing.' };
    const failures = conversation.results.filter((result) => result.isError);
    if (failures.length > 1) return { kind: 'reply', text: `I could not continue: ${failures.at(-1)?.text ?? ''}` };
    // A new session knows nothing of the first visit, but the CLI refuses to overwrite a file that was not read.
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
    return { kind: 'reply', text: `${visit.finishes ? 'Finished' : 'Began'} ${task.id}.\n\n${statusBlock(claim)}` };
  };
}

function visitsTo(taskId: string, { prompts }: Conversation): number {
  return prompts.filter((prompt) => taskIn(prompt)?.id === taskId).length;
}
