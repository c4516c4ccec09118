import { confirm, isCancel, select, text, updateSettings } from '@clack/prompts';
import type { Readable, Writable } from 'node:stream';
import type { Choices } from '../../core/setup/files.ts';
import { isLeft } from '../../core/setup/workflow.ts';
import { verifyProblem } from './verify-command.ts';
import type { Person } from './setup-world.ts';

/** Ctrl-D, the end of input: without this, the prompts wait on for ever. */
const END_OF_INPUT = '\u0004';

/** The person at the terminal. */
export function createPerson(terminal: { readonly input: Readable; readonly output: Writable }): Person {
  updateSettings({ aliases: { [END_OF_INPUT]: 'cancel' } });
  return {
    choose: async (found) => {
      const shape = await select<Choices['shape']>({
        ...terminal,
        message: 'Which form should the workflow have?',
        options: [
          { value: 'three-jobs', label: 'three jobs: the agent works in a job whose token can only read' },
          { value: 'single', label: 'one job, to change as you like: for services, or your own secrets' },
        ],
        initialValue: found.shape,
      });
      if (isCancel(shape)) return null;
      const verify = isLeft(found, 'verify')
        ? found.verify.join(' && ')
        : await text({
            ...terminal,
            message: 'Which command must pass before work counts as done? (empty: none)',
            initialValue: found.verify.join(' && '),
            validate: (answer) => verifyProblem(answer ?? '') ?? undefined,
          });
      if (isCancel(verify)) return null;
      const key = await select<Choices['key']>({
        ...terminal,
        message: 'Who pays for the model?',
        options: [
          { value: 'api-key', label: 'an API key of the Claude Console' },
          { value: 'subscription', label: 'a Claude subscription' },
        ],
        initialValue: found.key,
      });
      if (isCancel(key)) return null;
      const prompt = await confirm({
        ...terminal,
        message: 'Write .ralph/PROMPT.md, to change the instructions that the agent gets?',
        initialValue: found.prompt,
      });
      if (isCancel(prompt)) return null;
      const isChanged = verify !== found.verify.join(' && ');
      return {
        ...found,
        shape,
        key,
        prompt,
        verify: isChanged ? [verify].filter((line) => line.trim() !== '') : found.verify,
      };
    },
    confirm: async (question) => (await confirm({ ...terminal, message: question })) === true,
  };
}
