import type { Readable, Writable } from 'node:stream';
import { confirm, isCancel, multiselect, select, selectKey, text, updateSettings } from '@clack/prompts';
import type { SetupChoices } from '../../core/setup/files.ts';
import { joinCommands } from '../../core/setup/ci/commands.ts';
import { AGENT_NAMES, type AgentName, AGENTS } from '../../core/agent-names.ts';
import { LOGINS } from '../../core/agents/login-term.ts';
import { findVerifyProblem, hasKeyKinds, isLeftToFile } from '../../core/setup/workflow.ts';
import { toPlainLine } from '../arguments.ts';
import type { Person } from './setup-world.ts';

/** Ctrl-D, the end of input, which the prompts would otherwise ignore and wait without end. */
const END_OF_INPUT = '\u0004';

const LOGIN_OPTIONS = Object.entries(LOGINS).map(([value, { title }]) => ({
  value: value as keyof typeof LOGINS,
  label: `${title}, without a stored key`,
}));

/** Creates the person at the terminal. */
export function createPerson(terminal: { readonly input: Readable; readonly output: Writable }): Person {
  updateSettings({ aliases: { [END_OF_INPUT]: 'cancel' } });
  return {
    choose: async (found, offered) => {
      const joined = joinCommands(found.verify);
      const shape = await select<SetupChoices['shape']>({
        ...terminal,
        message: 'Which form should the workflow have?',
        options: [
          { value: 'three-jobs', label: 'three jobs: the agent works in a job whose token can only read' },
          { value: 'single', label: 'one job, to change as you like' },
        ],
        initialValue: found.shape,
      });
      if (isCancel(shape)) return null;
      const verify = isLeftToFile(found, 'verify')
        ? joined
        : await text({
            ...terminal,
            message: 'Which command must pass before work counts as done? (empty: none)',
            initialValue: joined,
            validate: (answer) => findVerifyProblem(answer ?? '') ?? undefined,
          });
      if (isCancel(verify)) return null;
      const added =
        offered.length === 0 || isLeftToFile(found, 'verify')
          ? []
          : await multiselect<string>({
              ...terminal,
              message: 'Your CI also runs these. Add some to verify? (space: choose, enter: continue)',
              options: offered.map((value) => ({ value, label: toPlainLine(value, 120) })),
              required: false,
            });
      if (isCancel(added)) return null;
      const agent = isLeftToFile(found, 'agent')
        ? found.agent
        : await select<AgentName>({
            ...terminal,
            message: 'Which agent does the work?',
            options: AGENT_NAMES.map((value) => ({ value, label: AGENTS[value].title })),
            initialValue: found.agent,
          });
      if (isCancel(agent)) return null;
      const agentPath =
        AGENTS[agent].source !== null
          ? found.agentPath
          : await text({
              ...terminal,
              message: 'Which program is it? (a path in the repository, or the name of a program)',
              initialValue: found.agentPath,
              validate: (answer) => findVerifyProblem(answer ?? '') ?? (answer?.trim() ? undefined : 'it has no name.'),
            });
      if (isCancel(agentPath)) return null;
      const key = !hasKeyKinds(agent)
        ? found.key
        : await select<SetupChoices['key']>({
            ...terminal,
            message: 'Who pays for the model?',
            options: [
              { value: 'api-key', label: 'an API key of the Claude Console' },
              { value: 'subscription', label: 'a Claude subscription' },
              ...(shape === 'single' ? [] : LOGIN_OPTIONS),
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
      const isChanged = verify !== joined;
      return {
        ...found,
        agent,
        agentPath,
        shape,
        key,
        prompt,
        verify: [...(isChanged ? [verify].filter((line) => line.trim() !== '') : found.verify), ...added],
      };
    },
    review: async (question, showAll) => {
      for (;;) {
        const answer = await selectKey<'y' | 'd' | 'n'>({
          ...terminal,
          message: question,
          options: [
            { value: 'y', label: 'yes' },
            { value: 'd', label: 'show the diff first' },
            { value: 'n', label: 'no' },
          ],
        });
        if (answer === 'd') showAll();
        // Enter submits the marked option, which is the first ("yes"), without a value.
        else return !isCancel(answer) && answer !== 'n';
      }
    },
    confirm: async (question) => (await confirm({ ...terminal, message: question })) === true,
  };
}
