import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../river/deps.ts';
import { writeRunRecord } from '../river/run-record.ts';
import { onCancel } from '../runner/cancellation.ts';
import { createWorkFiles, readWorkspaceFile } from '../runner/workspace-files.ts';
import { endAgent } from './agent.ts';
import type { Guard } from './guard.ts';
import type { World } from './world.ts';

/** A prompt file may be so long; the CLI takes 10 MB on stdin, task and context included. */
const MAX_PROMPT_BYTES = 1024 * 1024;
/** The prompt shows the last 2,000 characters; a character is at most four bytes. */
const MAX_LEARNINGS_BYTES = 8_000;

/** This machine, as main needs it. */
export function createMachine(
  world: World,
  { startedAt, guard }: { readonly startedAt: number; readonly guard: Pick<Guard, 'actionDigest'> },
): Machine {
  const { context, runFolder, runTag, runKey } = world;
  return {
    readPrompt: () => readPrompt(world),
    readLearnings: async () =>
      (await readWorkspaceFile(context.workspace, '.ralph/learnings.md', MAX_LEARNINGS_BYTES)) ?? '',
    files: createWorkFiles(context.workspace),
    record: (record) => {
      writeRunRecord(runFolder, { version: 1, startedAt, actionDigest: guard.actionDigest(), ...record }, runKey);
    },
    loss: () =>
      existsSync(runFolder)
        ? null
        : `The run's own folder ${runFolder} was removed while it ran, by the agent or by another program of this machine. What was finished before is published.`,
    onCancel,
    endAgent: () => endAgent(runTag),
    exit: (code) => process.exit(code),
  };
}

/** The user's prompt, or the built-in one. */
async function readPrompt({ context, config, actionFolder, log }: World): Promise<string> {
  for (const path of [config.promptFile, 'PROMPT.md']) {
    const text = await readWorkspaceFile(context.workspace, path, MAX_PROMPT_BYTES);
    if (text !== null && text.trim() !== '') {
      log.info(`prompt: ${path}`);
      return text;
    }
  }
  return readFile(join(actionFolder, 'templates', 'PROMPT.md'), 'utf8');
}
