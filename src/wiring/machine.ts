import { existsSync } from 'node:fs';
import type { Machine } from '../river/deps.ts';
import { writeRunRecord } from '../river/run-record.ts';
import type { WorkTreeFiles } from '../ports/repository.ts';
import { onCancel } from '../runner/cancellation.ts';
import { readPrompt } from '../runner/prompt-file.ts';
import { steeringDigest } from '../runner/steering.ts';
import { pause } from '../runner/pause.ts';
import { endAgent } from './agent.ts';
import type { World } from './world.ts';

/** The prompt shows the last 2,000 characters; a character is at most four bytes. */
const MAX_LEARNINGS_BYTES = 8_000;

/** This machine, as main needs it. */
export function createMachine(
  world: World,
  { startedAt, workFiles }: { readonly startedAt: number; readonly workFiles: () => Promise<WorkTreeFiles> },
): Machine {
  const { context, config, actionFolder, log, runFolder, runTag, runKey, environment } = world;
  const steering = steeringDigest(environment, runKey);
  return {
    readPrompt: () => readPrompt({ workspace: context.workspace, promptFile: config.promptFile, actionFolder }, log),
    readLearnings: async () => (await (await workFiles()).readEnd('.ralph/learnings.md', MAX_LEARNINGS_BYTES)) ?? '',
    sleep: pause,
    files: {
      read: async (paths) => (await workFiles()).read(paths),
      replace: async (change) => (await workFiles()).replace(change),
    },
    record: (record) => {
      writeRunRecord(runFolder, { version: 1, startedAt, steeringDigest: steering, ...record }, runKey);
    },
    loss: () =>
      existsSync(runFolder)
        ? null
        : `The run's own folder ${runFolder} was removed while it ran, by the agent or by another program on this machine. What was finished before is published.`,
    onCancel,
    endAgent: () => endAgent(runTag),
    exit: (code) => process.exit(code),
  };
}
